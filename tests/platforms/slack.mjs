// Runs @slack/socket-mode and @slack/web-api against the stand-in of Slack: slack.mjs API APP_TOKEN BOT_TOKEN. Prints
// each event as a line of JSON.
import { SocketModeClient } from '@slack/socket-mode';
import { WebClient } from '@slack/web-api';

const [api, appToken, botToken] = process.argv.slice(2);
const say = (what) => console.log(JSON.stringify(what));
const options = { slackApiUrl: `${api}/`, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true };
const quiet = { debug() {}, info() {}, warn() {}, error() {}, setLevel() {}, getLevel: () => 'error', setName() {} };
const web = new WebClient(botToken, { ...options, logger: quiet });
const socket = new SocketModeClient({ appToken, clientOptions: options, logger: quiet, autoReconnectEnabled: true });

const errorOf = async (call) => {
  try {
    await call;
    return 'none';
  } catch (error) {
    return error.data?.error ?? (error.retryAfter !== undefined ? `retry after ${error.retryAfter}` : error.code);
  }
};

let connections = 0;
socket.on('connected', () => {
  connections += 1;
});
const done = new Promise((resolve) => {
  socket.on('message', async ({ event, ack, retry_num: retry }) => {
    // Not acknowledged the first time: the event must be delivered again.
    if (event.text === 'again' && !retry) {
      return;
    }
    await ack();
    say({ text: event.text, user: event.user, retry: retry > 0 });
    if (event.text === 'hello') {
      const sent = await web.chat.postMessage({
        channel: event.channel,
        text: 'May I?',
        blocks: [
          { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 'May I?', style: { bold: true } }] }] },
          { type: 'actions', elements: [{ type: 'button', action_id: 'a', text: { type: 'plain_text', text: 'Yes' }, value: 'yes-1' }] },
        ],
      });
      say({ sent: sent.ok });
    }
    if (event.text === 'after the disconnect') {
      resolve();
    }
  });
  socket.on('interactive', async ({ body, ack }) => {
    await ack();
    const changed = await web.chat.update({ channel: body.channel.id, ts: body.container.message_ts, text: 'changed' });
    await fetch(body.response_url, { method: 'POST', body: JSON.stringify({ text: 'done' }) });
    await web.filesUploadV2({ channel_id: body.channel.id, filename: 'report.bin', title: 'report.bin', file: Buffer.from([0, 255, 1]) });
    say({ pressed: body.actions[0].value, changed: changed.text });
  });
});

const me = await web.auth.test();
say({ me: me.user_id });
await socket.start();
await done;
say({ connections });
say({ too_fast: await errorOf(web.chat.postMessage({ channel: 'C1', text: 'x' })) });
say({ broken: await errorOf(web.chat.postMessage({ channel: 'C1', text: 'x', blocks: [{ type: 'rich_text', elements: [] }] })) });
const stranger = new WebClient('xoxb-wrong', { ...options, logger: quiet });
say({ stranger: await errorOf(stranger.auth.test()) });
await socket.disconnect();
process.exit(0);
