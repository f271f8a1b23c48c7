/** Logging in to NickServ, the service that most networks without SASL have for it. */
import type { Clock } from '../../../src/core/ports.ts';
import { linkedSignal } from '../../../src/lib/linked-signal.ts';
import type { Line } from './line.ts';

/** How long its answer is waited for: a service that is away must not keep the bot out of its channels. */
const WAIT_MS = 10_000;
/** `You are now logged in as …`, and the user mode of those who are logged in. */
const [LOGGED_IN, NO_SUCH_NICK] = ['900', '401'];
/**
 * Its notices are words for people, in any language: they end the wait, or are told to the operator, where
 * they are known.
 */
const ACCEPTED = /identified|logged in|accepted|recogni[sz]ed/i;
const REFUSED = /incorrect|invalid|wrong|denied|failed|not (?:a )?registered|isn'?t registered/i;

export interface IdentifyOptions {
  readonly nick: string;
  readonly password: string;
  readonly write: (line: string) => void;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Ends with the connection. */
  readonly signal: AbortSignal;
}

export class Identification {
  readonly #options: IdentifyOptions;
  readonly #answered = Promise.withResolvers<string | undefined>();
  /** It said something, perhaps in words that are not known here. */
  #spoke = false;

  constructor(options: IdentifyOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the service answered, or did not in time: to what the operator should know of it. The
   * password is not in that. Rejects with the signal's reason.
   */
  async run(): Promise<string | undefined> {
    const { password, write, clock, signal } = this.#options;
    using over = linkedSignal(signal);
    write(`PRIVMSG NickServ :IDENTIFY ${password}`);
    const late = clock.sleep(WAIT_MS, over.signal);
    // It is told to end when an answer came first.
    late.catch(() => undefined);
    try {
      const unanswered = late.then(() => (this.#spoke ? undefined : 'NickServ did not answer the login'));
      return await Promise.race([this.#answered.promise, unanswered]);
    } finally {
      over.abort(new Error('NickServ answered'));
    }
  }

  heard({ command, nick, params, last }: Line): void {
    const us = this.#options.nick.toLowerCase();
    const isMode = command === 'MODE' && params[0]?.toLowerCase() === us && /^\+\w*r/.test(params[1] ?? '');
    if (command === LOGGED_IN || isMode) this.#answered.resolve(undefined);
    if (command === NO_SUCH_NICK && params[1]?.toLowerCase() === 'nickserv')
      this.#answered.resolve('there is no NickServ on this server');
    if (command !== 'NOTICE' || nick.toLowerCase() !== 'nickserv') return;
    this.#spoke = true;
    // What it says to every newcomer ("this nickname is registered") comes first, and is no answer.
    if (REFUSED.test(last)) this.#answered.resolve(`NickServ refused the login: ${this.#withoutPassword(last)}`);
    else if (ACCEPTED.test(last)) this.#answered.resolve(undefined);
  }

  #withoutPassword(text: string): string {
    return text
      .replaceAll(this.#options.password, '[password]')
      .replace(/\p{Cc}/gu, '')
      .slice(0, 200);
  }
}
