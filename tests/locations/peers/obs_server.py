"""A server that speaks as Huawei Cloud OBS does, and answers only to what Huawei's own client would have signed.

    python3 obs_server.py FOLDER BUCKET ACCESS SECRET

Prints its port, and serves the files of FOLDER as the bucket's objects; they can be written and removed. The expected signature of each request is computed
by `esdk-obs-python`; a request that carries another one gets 403.
"""
import http.server
import pathlib
import sys
import urllib.parse
from xml.sax.saxutils import escape

from obs import auth, convertor

FOLDER, BUCKET, ACCESS, SECRET = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
SIGNER = auth.Authentication(ACCESS, SECRET, False, convertor.Adapter("obs"), "", False)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_PUT(self):
        self.do_GET()

    def do_DELETE(self):
        self.do_GET()

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(address.path).lstrip("/")
        query = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True))
        signed = SIGNER.doAuth(self.command, BUCKET, key, query, dict(self.headers.items()))
        if self.headers.get("Authorization") != signed["Authorization"]:
            return self.answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>")
        if not self.headers["Host"].startswith(f"{BUCKET}.obs."):
            return self.answer(400, b"<Error><Code>InvalidBucketName</Code></Error>")
        if not key:
            return self.answer(200, self.listing(query))
        path = FOLDER / key
        if self.command == "PUT":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            return self.answer(200, b"", {"ETag": '"x"'})
        if self.command == "DELETE":
            path.unlink(missing_ok=True)
            return self.answer(204, b"")
        if not path.is_file():
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        self.send_object(path.read_bytes())

    def send_object(self, whole):
        asked = self.headers.get("Range", "")
        if not asked.startswith("bytes="):
            return self.answer(200, whole)
        start, end = asked[len("bytes="):].split("-")
        start, end = int(start), min(int(end or len(whole) - 1), len(whole) - 1)
        self.answer(206, whole[start:end + 1], {"Content-Range": f"bytes {start}-{end}/{len(whole)}"})

    def listing(self, query):
        """Two keys a page, so that paging is used."""
        prefix, marker = query.get("prefix", ""), query.get("marker", "")
        keys = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())
        keys = [key for key in keys if key.startswith(prefix) and key > marker]
        page, more = keys[:2], len(keys) > 2
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{(FOLDER / key).stat().st_size}</Size>"
            '<LastModified>2026-11-21T00:00:00.000Z</LastModified><ETag>"x"</ETag></Contents>'
            for key in page)
        following = f"<NextMarker>{escape(page[-1])}</NextMarker>" if more else ""
        return (f"<ListBucketResult><Name>{BUCKET}</Name>{rows}<IsTruncated>{str(more).lower()}</IsTruncated>"
                f"{following}</ListBucketResult>").encode()

    def answer(self, status, body, headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
