// Runs the official client of Feishu with a person's token: node feishu_person.mjs DOMAIN APP_ID APP_SECRET TOKEN STALE_TOKEN. The client
// reads and writes with the token, and prints a line of JSON for each call.
import * as lark from "@larksuiteoapi/node-sdk";

const [domain, appId, appSecret, token, stale] = process.argv.slice(2);
const print = (line) => console.log(JSON.stringify(line));
const client = new lark.Client({ appId, appSecret, domain, loggerLevel: lark.LoggerLevel.fatal });
const person = lark.withUserAccessToken(token);

print({ files: await client.drive.v1.file.list({ params: { folder_token: "f1", page_size: 20 } }, person) });
print({
    record: await client.bitable.v1.appTableRecord.create(
        { path: { app_token: "bas c1", table_id: "tbl1" }, data: { fields: { F: "x" } } },
        person,
    ),
});
try {
    await client.wiki.v2.space.list({ params: {} }, lark.withUserAccessToken(stale));
} catch (error) {
    print({ refused: error.response.data.code });
}
