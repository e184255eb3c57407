/** Display of untrusted texts, such as hooks: anybody may have written a workspace's file. */

/** Characters that are invisible or that move others, except line feeds and tabs. */
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** A text in which such characters are shown as their codes. */
export function plainly(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** The first digits of a hash, by which people tell hooks apart; the command line accepts them too. */
export function shortHash(hash: string): string {
  return hash.slice(0, 12);
}

/** An example for a user without hooks. */
export const EXAMPLE_HOOKS = `{
  "enable_command_hooks": true,
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Shell",
        "hooks": [
          { "type": "command", "if": "Shell(git push *)", "command": "echo 'first run: make test' >&2; exit 2" }
        ]
      }
    ]
  }
}`;
