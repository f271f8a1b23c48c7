import { openPane } from '../slack/assistant-pane.ts';
import { type SlackServer, startSlackServer } from '../slack/server.ts';
import { BOT_ID, BOT_USER, decode, type Json, TEAM_ID } from '../slack/workspace.ts';
import type { FaultKind, Platform, SeenMessage } from './platform.ts';
import { REDELIVER_MS, SlackPlatform } from './slack.ts';

/** How a person asks, by their number in turn. */
const DOORS = ['pane', 'shortcut', 'menu', 'channel', 'bot'] as const;
/** Of a workflow that may call the agent. */
const WORKFLOW = 'B0FLOW';

/** The author of the messages that shortcuts are about; has a name, and never writes to the bot. */
const OTHER = 'U0OTHER';
/** Where they stand: the bot is not in it, so that it finds them in no history. */
const ELSEWHERE = 'C0ELSEWHERE';
/** `D0P3` or `C0P3`: of person 3. */
const CHAT = /^[CD]0P(\d+)$/;

/** Something that a person pressed or chose. */
interface Press {
  readonly text: string;
  readonly payload: () => Json;
}

/** Slack for people who ask by other ways than a message to the bot. */
class SlackDoors implements Platform {
  readonly type = 'slack';
  readonly needsFirstStart = false;
  readonly doors = DOORS.length;
  /** What is pressed comes at once and once, so that it is neither doubled nor held back. */
  readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'slow', 'disconnect'];
  readonly #server: SlackServer;
  readonly #platform: SlackPlatform;
  /** Pressed as soon as the bot is there: while it is away, people see that it is. */
  #held: Press[] = [];
  /** Id of the envelope -> what was asked with it. */
  readonly #pressed = new Map<string, string>();
  /** Messages of the bot that stand there from the beginning. */
  readonly #earlier = new Set<string>();
  #presses = 0;
  /** A socket is open, and was not told to break. */
  #isThere = false;

  constructor(server: SlackServer) {
    this.#server = server;
    this.#platform = new SlackPlatform(server, false);
    server.sockets.onOpen = () => this.#release();
  }

  get channel() {
    const { settings, ...entry } = this.#platform.channel;
    const suggested_prompts = [{ title: 'Plan', message: 'Plan my week' }];
    return { ...entry, allowed_groups: ['*'], settings: { ...settings, suggested_prompts, allowed_bots: [WORKFLOW] } };
  }

  get env(): Record<string, string> {
    return this.#platform.env;
  }

  async begin(): Promise<void> {
    await this.#platform.begin();
    this.#server.names.set(OTHER, 'Another Person');
    this.#held = [];
    this.#pressed.clear();
    this.#earlier.clear();
    this.#isThere = false;
  }

  async write(person: number, text: string): Promise<void> {
    const user = `U0P${person}`;
    this.#server.names.set(user, `Person ${person}`);
    const door = DOORS[person % DOORS.length];
    if (door === 'pane') {
      const root = openPane(this.#server, user);
      this.#earlier.add(root.ts);
      this.#server.say({ channel: root.channel, user, text, thread_ts: root.ts });
    } else if (door === 'channel' || door === 'bot') {
      // https://docs.slack.dev/reference/events/message/bot_message
      const by = door === 'channel' ? { user } : { user: undefined, subtype: 'bot_message', bot_id: WORKFLOW };
      this.#server.say({ channel: `C0P${person}`, ...by, text: `<@${BOT_USER}> ${text}` });
    } else {
      const about = door === 'shortcut' ? this.#aboutMessage(text) : this.#choice(user, text);
      const by = { user: { id: user, name: `person${person}`, team_id: TEAM_ID }, team: { id: TEAM_ID } };
      this.#held.push({ text, payload: () => ({ ...by, ...about(this.#server.workspace.nextTs()) }) });
      if (this.#isThere && this.#server.sockets.open > 0) this.#release();
    }
  }

  async seen(): Promise<readonly SeenMessage[]> {
    const own = this.#server.workspace.messages.filter(({ user, ts }) => user === BOT_USER && !this.#earlier.has(ts));
    return own.map(({ channel, text, ts }) => ({
      person: Number(CHAT.exec(channel)?.[1]),
      text: decode(text),
      at: Math.floor(Number(ts) * 1_000),
    }));
  }

  async waiting(): Promise<number> {
    return this.#held.length + (await this.#platform.waiting());
  }

  /** The socket that it was pushed to is gone, and no other one will have it. */
  async notOffered(): Promise<readonly string[]> {
    const { sockets } = this.#server;
    const gone = [...this.#pressed].filter(([id]) => !sockets.isWaiting(id) && !sockets.acknowledged.includes(id));
    return gone.map(([, text]) => text);
  }

  fault(kind: FaultKind, times: number): void {
    // The connection ends a moment after it was told to.
    if (kind === 'disconnect') this.#isThere = false;
    this.#platform.fault(kind, times);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#platform[Symbol.asyncDispose]();
  }

  #release(): void {
    this.#isThere = true;
    for (const { text, payload } of this.#held.splice(0)) {
      this.#presses += 1;
      const trigger = { trigger_id: `1.${this.#presses}` };
      this.#pressed.set(this.#server.sockets.deliver('interactive', { ...trigger, ...payload() }), text);
    }
  }

  /** https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload */
  #aboutMessage(text: string): (at: string) => Json {
    const message = { type: 'message', user: OTHER, ts: this.#server.workspace.nextTs(), text };
    const place = { channel: { id: ELSEWHERE }, message, message_ts: message.ts };
    return (at) => ({ type: 'message_action', callback_id: 'ask', action_ts: at, ...place });
  }

  /**
   * A menu that the bot showed earlier.
   * https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
   */
  #choice(user: string, value: string): (at: string) => Json {
    const { workspace } = this.#server;
    const channel = workspace.direct(user);
    const options = [value, 'something else'].map((words) => ({ text: { type: 'plain_text', text: words }, value: words }));
    const menu = { type: 'static_select', action_id: 'gatehouse_choice_0', options };
    const blocks = [{ type: 'actions', block_id: 'x', elements: [menu] }];
    const own = { channel, user: BOT_USER, bot_id: BOT_ID, team: TEAM_ID };
    const message = workspace.add({ ...own, text: 'Which one?', blocks });
    this.#earlier.add(message.ts);
    const { type, action_id } = menu;
    const action = { type, action_id, block_id: 'x', selected_option: options[0] };
    return (at) => ({
      ...{ type: 'block_actions', channel: { id: channel }, message },
      actions: [{ ...action, action_ts: at }],
    });
  }
}

/**
 * In turn: a thread of the AI pane, a shortcut on a message, a choice in a menu, and a mention in a channel,
 * which is answered in a thread, by a person and by a workflow that may call the agent. Shortcuts and
 * choices are pressed while a socket is open and come once: one that was not acknowledged before the socket
 * broke is gone.
 */
export async function startSlackDoors(): Promise<Platform> {
  return new SlackDoors(await startSlackServer({ redeliverMs: REDELIVER_MS }));
}
