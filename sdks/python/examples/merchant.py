"""
A merchant's server: POST /verify?user=ID returns a link for the applicant, and POST /webhook receives the outcome.

    BONAFIDE_URL=… API_KEY=… SECRET=… GROUP_ID=… FLOW_ID=… WEBHOOK_SECRET=whsec_… python merchant.py
"""

import json
import os
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from bonafide import Bonafide, WebhookVerificationError, verify_webhook

bonafide = Bonafide(base_url=os.environ["BONAFIDE_URL"], api_key=os.environ["API_KEY"], secret=os.environ["SECRET"])
group_id, flow_id, webhook_secret = (os.environ[name] for name in ("GROUP_ID", "FLOW_ID", "WEBHOOK_SECRET"))
seen: set[str] = set()  # A real server has a table of these ids.


class Merchant(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        path = urlsplit(self.path).path
        try:
            self.verify() if path == "/verify" else self.receive() if path == "/webhook" else self.answer(404)
        except WebhookVerificationError as error:
            self.answer(400, str(error))
        except Exception:
            traceback.print_exc()
            self.answer(500)

    def do_GET(self) -> None:
        self.answer(405)

    def verify(self) -> None:
        # A real server takes the id from the signed-in user's session.
        user_id = parse_qs(urlsplit(self.path).query).get("user", [""])[0]
        self.answer(200, json.dumps(bonafide.links.create(user_id=user_id, group_id=group_id, flow_id=flow_id)))

    def receive(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        event = verify_webhook(body, self.headers, webhook_secret)
        self.answer(204)
        if event["id"] not in seen and event["type"] != "webhook.test":
            seen.add(event["id"])
            print(event["type"], event["data"]["externalUserId"], event["data"]["status"], flush=True)

    def answer(self, status: int, text: str = "") -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json" if status == 200 else "text/plain; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Merchant)
    print("listening on port", server.server_port, flush=True)
    server.serve_forever()
