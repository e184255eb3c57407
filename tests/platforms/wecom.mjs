// Runs the official client of WeCom's AI bots against the stand-in: node wecom.mjs ADDRESS BOT_ID SECRET. It prints a line of JSON for each
// event.
import { WSClient } from "@wecom/aibot-node-sdk";

const [wsUrl, botId, secret] = process.argv.slice(2);
const print = (line) => console.log(JSON.stringify(line));
const quiet = { debug() {}, info() {}, warn() {}, error() {} };
const client = new WSClient({ wsUrl, botId, secret, logger: quiet, heartbeatInterval: 200, maxAuthFailureAttempts: 0 });
const card = (title) => ({
    card_type: "button_interaction",
    main_title: { title },
    button_list: [
        { text: "Yes", key: "yes" },
        { text: "No", key: "no" },
    ],
    task_id: "task_1",
});

client.on("authenticated", () => print({ ready: true }));
client.on("disconnected", (reason) => print({ ended: reason }));
client.on("error", (error) => print({ failed: error.message }));
client.on("message.text", async (frame) => {
    const { body } = frame;
    print({ got: body.text.content, user: body.from.userid, group: body.chatid ?? "", id: body.msgid });
    if (body.text.content === "after") return;
    await client.replyStream(frame, "stream_1", "thinking", false);
    await client.replyStream(frame, "stream_1", "**done**", true);
    await client.sendMessage(body.chatid ?? body.from.userid, { msgtype: "markdown", markdown: { content: "pushed" } });
    await client.replyTemplateCard(frame, card("May I?"));
    const { media_id } = await client.uploadMedia(Buffer.from("contents"), { type: "file", filename: "a.txt" });
    await client.sendMediaMessage(body.from.userid, "file", media_id);
    print({ media: media_id });
    try {
        await client.replyStream(frame, "stream_2", "x".repeat(20_481), true);
    } catch (error) {
        print({ refused: error.errcode ?? String(error) });
    }
});
client.on("message.image", async ({ body }) => {
    const { buffer } = await client.downloadFile(body.image.url, body.image.aeskey);
    print({ file: buffer.toString() });
});
client.on("event.template_card_event", async (frame) => {
    print({ pressed: frame.body.event.event_key ?? frame.body.event.template_card_event.event_key });
    await client.updateTemplateCard(frame, card("Allowed"));
    print({ updated: true });
});
client.connect();
