// Runs the official client of Feishu against the stand-in: node feishu.mjs DOMAIN APP_ID APP_SECRET. The client answers each text with a
// card, changes the card, sends and fetches a file, and answers a press with a toast. It prints a line of JSON for each action.
import * as lark from "@larksuiteoapi/node-sdk";

const [domain, appId, appSecret] = process.argv.slice(2);
const print = (line) => console.log(JSON.stringify(line));
const client = new lark.Client({ appId, appSecret, domain, loggerLevel: lark.LoggerLevel.error });
const card = (text) =>
    JSON.stringify({
        schema: "2.0",
        config: { update_multi: true },
        body: {
            elements: [
                { tag: "markdown", content: text },
                {
                    tag: "button",
                    text: { tag: "plain_text", content: "Yes" },
                    behaviors: [{ type: "callback", value: { token: "yes" } }],
                },
            ],
        },
    });

const bytes = async (resource) => {
    const chunks = [];
    for await (const chunk of resource.getReadableStream()) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
};

const dispatcher = new lark.EventDispatcher({ loggerLevel: lark.LoggerLevel.error }).register({
    "im.message.receive_v1": async ({ message, sender }) => {
        const { text } = JSON.parse(message.content);
        print({ got: text, from: sender.sender_id.open_id, id: message.message_id });
        if (text.length > 100) return;
        const answer = await client.im.v1.message.create({
            params: { receive_id_type: "chat_id" },
            data: { receive_id: message.chat_id, msg_type: "interactive", content: card("**one**"), uuid: "u1" },
        });
        const id = answer.data.message_id;
        const again = await client.im.v1.message.create({
            params: { receive_id_type: "chat_id" },
            data: { receive_id: message.chat_id, msg_type: "interactive", content: card("**one**"), uuid: "u1" },
        });
        print({ sent: id, again: again.data.message_id });
        await client.im.v1.message.patch({ path: { message_id: id }, data: { content: card("**two**") } });
        const reply = await client.im.v1.message.reply({
            path: { message_id: message.message_id },
            data: { msg_type: "text", content: JSON.stringify({ text: "reply" }), reply_in_thread: true },
        });
        print({ replied: reply.data.message_id });
        const file = await client.im.v1.file.create({
            data: { file_type: "stream", file_name: "a.txt", file: Buffer.from("contents") },
        });
        const image = await client.im.v1.image.create({ data: { image_type: "message", image: Buffer.from("png") } });
        print({ file: file.file_key, image: image.image_key });
        const fetched = await client.im.v1.messageResource.get({
            path: { message_id: message.message_id, file_key: file.file_key },
            params: { type: "file" },
        });
        print({ fetched: await bytes(fetched) });
        const info = await client.request({ method: "GET", url: "/open-apis/bot/v3/info" });
        print({ bot: info.bot.open_id });
        try {
            await client.im.v1.message.create({
                params: { receive_id_type: "chat_id" },
                data: { receive_id: message.chat_id, msg_type: "interactive", content: card("x".repeat(40_000)) },
            });
        } catch (error) {
            print({ refused: error.response.data.code });
        }
    },
    "card.action.trigger": async ({ action, operator }) => {
        print({ pressed: action.value.token, by: operator.open_id });
        return { toast: { type: "info", content: "done" } };
    },
});

const socket = new lark.WSClient({
    appId,
    appSecret,
    domain,
    loggerLevel: lark.LoggerLevel.error,
    onReady: () => print({ ready: true }),
    onReconnected: () => print({ again: true }),
    onError: (error) => {
        print({ failed: error.message });
        process.exit(0);
    },
});
await socket.start({ eventDispatcher: dispatcher });
