/**
 * Which lines are said again: servers with channel history and bouncers (ZNC, soju) show a bot that connects
 * what was written before. A line has the same id whenever it is shown.
 */
import { shortHash } from '../../../src/core/ids.ts';
import { RecentMap } from '../../kit/recent.ts';
import { isChannel, type Line, ZNC } from '../wire/line.ts';

/** What one line of a connection is, beside its words. */
export interface Shown {
  /** Absent where the server says no time: then nothing tells this line from an equal one. */
  readonly id?: string;
  /** It stands in a batch of history. A line outside of one may be history, too. */
  readonly isHistory: boolean;
  /** History of an old ZNC, which says neither what day it was nor in which time zone. */
  readonly isUndated: boolean;
}

/** `chathistory` of IRCv3, and the batch of ZNC. */
const HISTORY = /^(?:chathistory|znc\.in\/playback)$/;
/** Equal lines of one millisecond follow closely, so only the latest lines are counted. */
const COUNTED = 1_000;
/** How ZNC begins history for a client without `server-time`; in an action it stands behind the mark. */
const STAMP = /^\[\d\d:\d\d:\d\d\] /;
const ACTION = '\u0001ACTION ';

/** One connection. It is told of every line, in order. */
export class Replay {
  /** How often each line was shown, and the same within each batch of history that is open. */
  readonly #shown = new RecentMap<number>(COUNTED);
  readonly #batches = new Map<string, RecentMap<number>>();
  /** ZNC, by what it says of itself, as long as it says no times. */
  #isTimelessZnc = false;

  read(line: Line): Shown {
    const { command, params, tags, nick, address } = line;
    if (command === 'BATCH') this.#batch(params);
    if (tags.has('time')) this.#isTimelessZnc = false;
    else if (address === ZNC || (command === 'CAP' && nick === 'irc.znc.in')) this.#isTimelessZnc = true;
    const batch = this.#batches.get(tags.get('batch') ?? '');
    const isUndated = this.#isTimelessZnc && command === 'PRIVMSG' && STAMP.test((params[1] ?? '').replace(ACTION, ''));
    const id = command === 'PRIVMSG' ? idOf(line) : undefined;
    return { isHistory: batch !== undefined, isUndated, ...(id !== undefined && { id: this.#count(id, batch) }) };
  }

  #batch([reference = '', type = '']: readonly string[]): void {
    const name = reference.slice(1);
    if (reference.startsWith('-')) this.#batches.delete(name);
    else if (HISTORY.test(type)) this.#batches.set(name, new RecentMap(COUNTED));
  }

  /** The same written twice in one millisecond is two lines, also where both are shown again. */
  #count(id: string, batch: RecentMap<number> | undefined): string {
    const before = (batch ?? this.#shown).get(id) ?? 0;
    batch?.set(id, before + 1);
    this.#shown.set(id, Math.max(this.#shown.get(id) ?? 0, before + 1));
    return before === 0 ? id : `${id}.${before}`;
  }
}

/** Time, sender, target and words; not the account, which bouncers do not keep. */
function idOf({ tags, nick, address, params }: Line): string | undefined {
  const at = Date.parse(tags.get('time') ?? '');
  const [target = '', said = ''] = params;
  if (Number.isNaN(at)) return undefined;
  // In private it is us, by the name that we have when the line is shown.
  const to = isChannel(target) ? target.toLowerCase() : '';
  return `${at}-${shortHash(JSON.stringify([nick, address, to, said]), 32)}`;
}
