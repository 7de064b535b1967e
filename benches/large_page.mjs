// How long the page of a large dump takes in a browser: until it shows something, until every value can be searched, and for a
// search.
//
//     npm install playwright-core     # and Debian's chromium
//     node benches/large_page.mjs precision-gate-out/report.html [ROUNDS]
//
// A search is typed into the field as a person does; it ends with the first frame in which its rows are drawn.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, rounds = "3"] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
console.log(`${(statSync(file).size / 1e6).toFixed(1)} MB`);
for (let round = 0; round < Number(rounds); round += 1) {
  const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
  await page.goto(pathToFileURL(resolve(file)).href);
  await page.waitForFunction(() => !document.getElementById("operations").hasAttribute("aria-busy"));
  const ready = await page.evaluate(() => performance.now());
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  const searches = [];
  for (const text of ["linear.77", "norm", "no such tensor"]) {
    searches.push(await page.evaluate(async (text) => {
      // Among all values, and not only among the wrong ones.
      document.getElementById("state").value = "";
      const search = document.getElementById("search");
      const start = performance.now();
      const drawn = new Promise((resolve) => new MutationObserver((_, observer) => {
        observer.disconnect();
        requestAnimationFrame(() => setTimeout(resolve));
      }).observe(document.getElementById("count"), { childList: true }));
      search.value = text;
      search.dispatchEvent(new Event("input"));
      await drawn;
      return performance.now() - start;
    }, text));
  }
  const shown = searches.map((milliseconds) => milliseconds.toFixed(0)).join(", ");
  console.log(`first paint ${paint.toFixed(0)} ms, all values read ${ready.toFixed(0)} ms, searches ${shown} ms`);
  await page.close();
}
await browser.close();
