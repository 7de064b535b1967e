//! Chats: one message per run that blocks, in the shape that each robot takes.

use precision_gate::result::GateResult;
use precision_gate::result::seal::seal;
use serde_json::Value;

use crate::forge::fake::github::{GitHub, HEAD, TOKEN};
use crate::forge::fake::{Asked, Brain, Fake, Reply, Wrong};
use crate::forge::gate::{Gate, Pair};

/// A robot: takes every message, and refuses what is no JSON.
struct Robot(Vec<(String, Value)>);

impl Brain for Robot {
    fn answer(&mut self, asked: &Asked) -> Reply {
        let message: Value = serde_json::from_slice(&asked.body).expect("JSON");
        self.0.push((asked.target.clone(), message));
        Reply::json(200, &serde_json::json!({ "code": 0, "errcode": 0, "errmsg": "ok" }))
    }
}

const KEY: &str = "0123-planted-robot-key";

fn start() -> (Fake<Robot>, Gate) {
    let robot = Fake::start(Robot(Vec::new()), None, "");
    let mut gate = Gate::outside();
    gate.set(&[("PRECISION_GATE_WEBHOOK", &format!("{}/hook/{KEY}", robot.base))]);
    (robot, gate)
}

#[test]
fn each_robot_gets_its_shape() {
    for (shape, title, text) in [
        ("feishu", "/card/header/title/content", "/card/elements/0/text/content"),
        ("dingtalk", "/text/content", "/text/content"),
        ("wecom", "/text/content", "/text/content"),
        ("slack", "/blocks/0/text/text", "/blocks/1/text/text"),
        ("json", "/title", "/text"),
    ] {
        let (robot, gate) = start();
        let ended = gate.run(Pair::Fail, &["--webhook", shape, "--key", "nightly", "--strict-publish"]);
        assert_eq!(ended.code, 1, "{shape}: {ended:?}");
        assert_eq!(gate.run(Pair::Pass, &["--webhook", shape, "--strict-publish"]).code, 0);
        let state = robot.state();
        let [(target, message)] = &state.0[..] else { panic!("{shape}: one message, not {:?}", state.0) };
        assert_eq!(*target, format!("/hook/{KEY}"));
        let said = |place: &str| message.pointer(place).and_then(Value::as_str).unwrap_or_default();
        assert!(said(title).contains("precision-gate nightly: fail"), "{shape}: {message:#}");
        assert!(said(text).contains("Torch.baddbmm.1 "), "{shape}: {message:#}");
    }
    let (robot, gate) = start();
    gate.run(Pair::Pass, &["--webhook", "json", "--webhook-on", "always", "--strict-publish", "--lang", "zh"]);
    assert_eq!(robot.state().0[0].1["verdict"], "pass");
}

#[test]
fn a_message_leads_to_the_job() {
    for shape in ["feishu", "dingtalk", "wecom", "slack", "json"] {
        let (robot, _) = start();
        let mut gate = Gate::on_github(&robot.base);
        gate.set(&[("PRECISION_GATE_WEBHOOK", &format!("{}/hook/{KEY}", robot.base)), ("INPUT_PUBLISH", "false")]);
        gate.run(Pair::Fail, &["--webhook", shape, "--strict-publish"]);
        let message = robot.state().0[0].1.to_string();
        assert!(message.contains("https://github.com/org/model/actions/runs/77"), "{shape}: {message}");
        assert!(message.contains("org/model 111111111111") || message.contains(HEAD), "{shape}: {message}");
    }
}

#[test]
fn signatures_limits_and_refusals() {
    let (robot, mut gate) = start();
    gate.set(&[("PRECISION_GATE_WEBHOOK_SECRET", "planted-secret")]);
    gate.run(Pair::Fail, &["--webhook", "feishu", "--strict-publish"]);
    gate.run(Pair::Fail, &["--webhook", "dingtalk", "--strict-publish"]);
    let state = robot.state();
    assert!(state.0[0].1["sign"].as_str().is_some_and(|sign| sign.len() == 44), "{}", state.0[0].1);
    assert!(state.0[1].0.contains("?timestamp=1") && state.0[1].0.contains("&sign="), "{}", state.0[1].0);
    drop(state);

    // A refusal that answers 200, and a server that sends back what it was sent.
    let body = serde_json::json!({ "errcode": 310_000, "errmsg": format!("no keyword, {KEY} planted-secret") });
    robot.fail("POST", "/hook", 1, Wrong::Instead(Reply::json(200, &body)));
    let ended = gate.run(Pair::Fail, &["--webhook", "dingtalk"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("could not send to the webhook: answered 400 no keyword, *** ***"), "{ended:?}");
    robot.fail("POST", "/hook", 1, Wrong::Instead(Reply::json(200, &body)));
    assert_eq!(gate.run(Pair::Fail, &["--webhook", "dingtalk", "--strict-publish"]).code, 3);

    // What may help is tried again.
    let limited = Reply { headers: vec![("retry-after", "0".into())], ..Reply::refusal(429, "slow down") };
    robot.fail("POST", "/hook", 1, Wrong::Instead(limited));
    robot.fail("POST", "/hook", 1, Wrong::Instead(Reply::refusal(503, "later")));
    assert_eq!(gate.run(Pair::Fail, &["--webhook", "slack", "--strict-publish"]).code, 1);
    let ended = gate.run(Pair::Fail, &["--webhook", "wecom", "--dry-run", "--forge", "github", "--repo", "o/r"]);
    assert!(ended.stdout.contains("POST PRECISION_GATE_WEBHOOK\n"), "{ended:?}");
    assert!(!ended.stdout.contains(KEY) && !ended.stderr.contains(KEY), "{ended:?}");
    gate.set(&[("PRECISION_GATE_WEBHOOK", "")]);
    let ended = gate.run(Pair::Fail, &["--webhook", "slack"]);
    assert!(ended.stderr.contains("PRECISION_GATE_WEBHOOK is not set"), "{ended:?}");
    gate.set(&[("PRECISION_GATE_WEBHOOK", "hook")]);
    let ended = gate.run(Pair::Fail, &["--webhook", "slack"]);
    assert!(ended.stderr.contains("PRECISION_GATE_WEBHOOK: is not an address"), "{ended:?}");
}

/// Puts `text` wherever one of `names` stands.
fn replace(value: &mut Value, names: &[Value], text: &str) {
    match value {
        Value::String(_) if names.contains(value) => *value = text.into(),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, names, text)),
        Value::Object(fields) => {
            // The name of a finding is made of its place: reading makes it anew.
            if fields.get("finding").is_some_and(Value::is_string) {
                fields.remove("finding");
            }
            fields.values_mut().for_each(|field| replace(field, names, text));
        }
        _ => {}
    }
}

#[test]
fn hostile_text_stays_text_in_every_shape() {
    let (robot, mut gate) = start();
    let fake = GitHub::start("");
    gate.set(&[("GITHUB_TOKEN", TOKEN)]);
    let place = ["--forge", "github", "--url", &fake.base, "--repo", "org/model", "--sha", HEAD];
    gate.run(Pair::Fail, &[&place[..], &["--out", "out"]].concat());
    let evil = "\"}, {{ x }} <at user_id=\\\"all\\\"> <!channel> @all [x](http://e) \u{202e}\n\\";
    let mut result: Value = serde_json::from_str(&gate.read("out/result.json")).expect("JSON");
    let culprit = result["culprit"].clone();
    replace(&mut result, &[culprit["op"].clone(), culprit["tensor"].clone()], evil);
    let mut result: GateResult = serde_json::from_value(result).expect("a result");
    result.seal = Some(seal(&result));
    gate.write("out/result.json", &serde_json::to_string(&result).expect("JSON"));
    for shape in ["feishu", "dingtalk", "wecom", "slack", "json"] {
        let ended = gate.command(&[&["publish", "out/result.json", "--webhook", shape][..], &place].concat());
        assert!(!ended.stderr.contains("webhook"), "{shape}: {ended:?}");
    }
    let state = robot.state();
    assert_eq!(state.0.len(), 5);
    for (_, message) in &state.0 {
        let text = message.to_string();
        assert!(!text.contains('\u{202e}'), "{text}");
        assert!(
            message["text"].as_str().is_none_or(|text| !text.contains("<!channel>")) || message["version"] == 1,
            "{text}"
        );
    }
}

#[test]
fn own_templates_have_to_give_json() {
    let (robot, gate) = start();
    gate.write("own/webhook/json.json.j2", "{ \"red\": {{ (verdict == 'fail') | tojson }} }");
    gate.run(Pair::Fail, &["--webhook", "json", "--templates", "own", "--strict-publish"]);
    assert_eq!(robot.state().0[0].1, serde_json::json!({ "red": true }));
    gate.write("own/webhook/json.json.j2", "{ \"red\": {{ verdict }} }");
    let ended = gate.run(Pair::Fail, &["--webhook", "json", "--templates", "own"]);
    assert_eq!(ended.code, 1, "the verdict stands: {ended:?}");
    assert!(ended.stderr.contains("json.json.j2: gives no JSON") && ended.stderr.contains("tojson"), "{ended:?}");
}
