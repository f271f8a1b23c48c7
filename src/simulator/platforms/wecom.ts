import { WecomPush } from '../wecom/push.ts';
import { startWecomServer, type WecomServer } from '../wecom/server.ts';
import { Deliveries } from './deliveries.ts';
import type { FaultKind, Platform, PlatformOptions, SeenMessage } from './platform.ts';
import { Pushes } from './pushes.ts';

/** "Interface concurrency over the limit" (document/path/90313), which ends in seconds, not in a minute. */
const LIMITED = 45_033;

interface Callback {
  readonly text: string;
  readonly xml: string;
}

class WecomPlatform implements Platform {
  readonly type = 'wecom';
  readonly needsFirstStart = false;
  readonly faults: readonly FaultKind[] = ['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect'];
  readonly #server: WecomServer;
  readonly #push: WecomPush;
  readonly #deliveries: Deliveries<Callback>;
  // Three repeats (document/path/90238), each after 5 s there. Here the first is sooner, all within 8 s.
  readonly #pushes = new Pushes<Callback>({
    post: (callback, signal) => this.#post(callback, signal),
    pausesMs: [1_500, 2_500, 4_000],
  });
  #connections = new AbortController();
  #sent = 0;

  constructor(server: WecomServer, webhookPort: number) {
    this.#server = server;
    this.#push = new WecomPush({ corpId: server.corpId, agentId: server.agentId });
    this.#push.url = `http://127.0.0.1:${webhookPort}/hooks/wecom`;
    this.#deliveries = new Deliveries((callback) => this.#pushes.push(callback));
  }

  get channel() {
    const { corpId, agentId, url } = this.#server;
    const settings = { corp_id: corpId, agent_id: agentId, api_root: url, rate_limits: false };
    return { type: 'wecom', allowed_senders: ['*'], settings };
  }

  get env(): Record<string, string> {
    return {
      WECOM_AGENT_SECRET: this.#server.secret,
      WECOM_TOKEN: this.#push.token,
      WECOM_ENCODING_AES_KEY: this.#push.aesKey,
    };
  }

  async begin(): Promise<void> {
    this.#deliveries.clear();
    this.#pushes.forget();
    this.#server.clearFaults();
    this.#sent = this.#server.sends.length;
  }

  async write(person: number, text: string): Promise<void> {
    const member = `person-${person}`;
    this.#server.members.add(member);
    await this.#deliveries.pass({ text, xml: this.#push.xml(member, { MsgType: 'text', Content: text }) });
  }

  async seen(): Promise<readonly SeenMessage[]> {
    const sends = this.#server.sends.slice(this.#sent);
    return sends.map(({ touser, text, at }) => ({ person: Number(touser.replace('person-', '')), text, at }));
  }

  async waiting(): Promise<number> {
    return this.#pushes.waiting;
  }

  async notOffered(): Promise<readonly string[]> {
    return this.#pushes.givenUp.map(({ text }) => text);
  }

  fault(kind: FaultKind, times: number): void {
    const method = 'message/send';
    for (let time = 0; time < times; time += 1) {
      if (kind === 'limit')
        this.#server.fault({ method, kind: 'errcode', errcode: LIMITED, errmsg: 'api concurrent out of limit' });
      if (kind === 'lose-reply') this.#server.fault({ method, kind: 'drop' });
      if (kind === 'slow') this.#server.fault({ method, kind: 'slow', ms: 3_000 });
    }
    if (kind === 'duplicate') this.#deliveries.duplicate(times);
    if (kind === 'reorder') this.#deliveries.reorder(times);
    if (kind === 'disconnect') this.#disconnect();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pushes.forget();
    this.#push.stop();
    await this.#server.close();
  }

  /** A repeat is signed anew: what the platform does is not documented, and both must be taken. */
  async #post({ xml }: Callback, signal: AbortSignal): Promise<boolean> {
    return (await this.#push.post(this.#push.seal(xml), AbortSignal.any([signal, this.#connections.signal]))) === 200;
  }

  /** Neither side holds a connection: besides those of this moment, the answer to the next call is lost. */
  #disconnect(): void {
    this.#server.disconnect();
    this.#connections.abort(new Error('the connection broke'));
    this.#connections = new AbortController();
    // One, however often: retries that back off would otherwise meet them one by one for minutes.
    if (!this.#server.faults.some(({ kind }) => kind === 'drop')) this.#server.fault({ method: 'message/send', kind: 'drop' });
  }
}

/** The API with its duplicate check, and encrypted callbacks that are tried four times. */
export async function startWecomPlatform({ webhookPort }: PlatformOptions): Promise<Platform> {
  return new WecomPlatform(await startWecomServer(), webhookPort);
}
