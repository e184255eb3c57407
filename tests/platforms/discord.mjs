// Runs @discordjs/ws and @discordjs/rest against the stand-in of Discord: discord.mjs API TOKEN. Prints each event as a
// line of JSON.
import { REST } from '@discordjs/rest';
import { WebSocketManager, WebSocketShardEvents } from '@discordjs/ws';

const [api, token] = process.argv.slice(2);
const say = (what) => console.log(JSON.stringify(what));
const rest = new REST({ version: '10', api: api.replace(/\/v10$/, ''), retries: 0, rejectOnRateLimit: () => true }).setToken(token);
const errorOf = async (call) => {
  try {
    await call;
    return 'none';
  } catch (error) {
    return error.code ?? error.name;
  }
};
const manager = new WebSocketManager({ token, intents: 1 | (1 << 9) | (1 << 12) | (1 << 15), rest });
manager.on(WebSocketShardEvents.Ready, (data) => say({ ready: (data.data ?? data).user.username }));
manager.on(WebSocketShardEvents.Resumed, () => say({ resumed: true }));
// The test shows this if it fails.
manager.on(WebSocketShardEvents.Debug, (data) => console.error(data.message ?? data));
manager.on(WebSocketShardEvents.Error, (data) => console.error(data.error ?? data));
let beats = 0;
manager.on(WebSocketShardEvents.HeartbeatComplete, () => {
  beats += 1;
});
const done = new Promise((resolve) => {
  manager.on(WebSocketShardEvents.Dispatch, async (payload) => {
    const { t: kind, d: data } = payload.data ?? payload;
    if (kind === 'MESSAGE_CREATE') {
      say({ text: data.content, author: data.author.id });
      if (data.content === 'hello') {
        const components = [{ type: 1, components: [{ type: 2, style: 2, label: 'Yes', custom_id: 'yes-1' }] }];
        const body = { content: 'May I?', components, nonce: 'n-1', enforce_nonce: true };
        const sent = await rest.post(`/channels/${data.channel_id}/messages`, { body });
        const again = await rest.post(`/channels/${data.channel_id}/messages`, { body });
        say({ same: sent.id === again.id });
      }
      if (data.content === 'after the reconnect') {
        resolve();
      }
    }
    if (kind === 'INTERACTION_CREATE') {
      await rest.post(`/interactions/${data.id}/${data.token}/callback`, { body: { type: 6 }, auth: false });
      await rest.patch(`/channels/${data.channel_id}/messages/${data.message.id}`, { body: { content: 'changed', components: [] } });
      await rest.post(`/webhooks/${data.application_id}/${data.token}`, { body: { content: 'done', flags: 64 }, auth: false });
      const files = [{ name: 'report.bin', data: Buffer.from([0, 255, 1]), contentType: 'application/octet-stream' }];
      await rest.post(`/channels/${data.channel_id}/messages`, { body: { content: 'a file' }, files });
      say({ pressed: data.data.custom_id });
    }
  });
});
await manager.connect();
await done;
say({ beats: beats > 0 });
say({ long: await errorOf(rest.post('/channels/55/messages', { body: { content: 'x'.repeat(2001) } })) });
say({ too_fast: await errorOf(rest.post('/channels/56/messages', { body: { content: 'x' } })) });
await manager.destroy();
process.exit(0);
