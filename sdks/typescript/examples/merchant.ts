// A merchant's server: POST /verify?user=ID returns a link for the applicant, and POST /webhook receives the outcome.
//
//     BONAFIDE_URL=… API_KEY=… SECRET=… GROUP_ID=… FLOW_ID=… WEBHOOK_SECRET=whsec_… node merchant.js
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Bonafide, verifyWebhook, WebhookVerificationError } from "@bonafide/server";

const { BONAFIDE_URL = "", API_KEY = "", SECRET = "", GROUP_ID = "", FLOW_ID = "", WEBHOOK_SECRET = "" } = process.env;
const bonafide = new Bonafide({ baseUrl: BONAFIDE_URL, apiKey: API_KEY, secret: SECRET });
const seen = new Set<string>(); // A real server has a table of these ids.

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    if (error instanceof WebhookVerificationError) return response.writeHead(400).end(error.message);
    console.error(error);
    return response.writeHead(500).end();
  });
});
server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening on", server.address()));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", "http://localhost");
  if (request.method !== "POST") {
    response.writeHead(405).end();
  } else if (url.pathname === "/verify") {
    // A real server takes the id from the signed-in user's session.
    const userId = url.searchParams.get("user") ?? "";
    const link = await bonafide.links.create({ userId, groupId: GROUP_ID, flowId: FLOW_ID });
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(link));
  } else if (url.pathname === "/webhook") {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const event = await verifyWebhook(Buffer.concat(chunks), request.headers, WEBHOOK_SECRET);
    response.writeHead(204).end();
    if (seen.has(event.id) || event.type === "webhook.test") return;
    seen.add(event.id);
    console.log(event.type, event.data.externalUserId, event.data.status);
  } else {
    response.writeHead(404).end();
  }
}
