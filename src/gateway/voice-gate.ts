// claimed row -> (no words address the agent: what does its voice note say?) -> turn, or DONE without one
import type { Channel } from '../core/channel.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { Transcriber } from '../core/media-models.ts';
import type { InboundMessage, MediaRef } from '../core/message.ts';
import type { ModelCallContext } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import { type ChatRow, NOT_HEARD, type RunRow } from '../core/run.ts';
import type { Runs } from '../core/runs.ts';
import type { AddressPattern } from '../lib/guarded-pattern.ts';
import { type FindChannel, fetchFile, removeStored, type StoredFile, type UploadBook } from '../media/fetch-file.ts';
import { transcribe } from '../media/voice-notes.ts';
import { type Finish, RunStopped } from '../runs/finish.ts';
import { FETCH_MS, MAX_FILES, TRANSCRIPTION_MS, toTranscriptionError } from '../runs/prepare.ts';
import { isNamed } from './access.ts';
import type { Backlog } from './backlog.ts';

const NOT_MENTIONED = 'not-mentioned';

export interface VoiceGateOptions {
  readonly turn: (row: RunRow, signal: AbortSignal, durable: Promise<unknown>) => Promise<Finish | undefined>;
  /** Absent: no message is overheard. */
  readonly transcriber?: ((context: ModelCallContext) => Transcriber) | undefined;
  /** What the agent is called in groups of the channel. */
  readonly patterns: (channel: string) => readonly AddressPattern[];
  /** As `FetchFileOptions.uploads`. */
  readonly uploads?: UploadBook;
  /** An existing directory. */
  readonly workspace: (session: string) => string;
  /** As `FindChannel`, by instance name. */
  readonly channel: (name: string, signal: AbortSignal) => Promise<Channel | undefined>;
  readonly backlog: Backlog;
  readonly journal: Pick<Runs, 'finish' | 'release' | 'steps'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

interface Heard {
  readonly file: StoredFile;
  /** Empty where nothing was said, or nothing understood. */
  words: string;
}

/**
 * The mention rule for what is spoken. Who may write and in which group was decided at admission; here, after
 * the commit and in the order of the lane, a recording is fetched and transcribed once, and its words open
 * the way to the agent or do not. Those that do not are remembered as background of the group, like words
 * that were written, and their recording is removed; so is one that /stop ended. No typing is shown.
 */
export class VoiceGate {
  readonly #options: VoiceGateOptions;

  constructor(options: VoiceGateOptions) {
    this.#options = options;
  }

  /** As `LanesOptions.turn`. */
  async run(row: RunRow, signal: AbortSignal, durable: Promise<unknown>): Promise<Finish | undefined> {
    if (!row.message?.overheard) return await this.#options.turn(row, signal, durable);
    await durable;
    try {
      return await this.#listen(row, signal);
    } catch (error) {
      // After a shutdown the row is NEW again, and what was transcribed lies beside its recording; after
      // /stop it is DONE already.
      if (!signal.aborted) throw error;
      const isParked = !(signal.reason instanceof RunStopped && signal.reason.by === 'user');
      if (isParked) await this.#options.journal.release(row.seq, row.generation);
      else await this.#remove(row);
      return undefined;
    }
  }

  /** Rows that the journal gave up at this start. Never rejects. */
  async forget(rows: readonly ChatRow[]): Promise<void> {
    for (const row of rows) await this.#remove(row);
  }

  async #listen(row: ChatRow, signal: AbortSignal): Promise<Finish | undefined> {
    const { backlog, clock, journal, patterns, turn } = this.#options;
    const started = clock.monotonic();
    const { overheard: _overheard, ...message } = row.message;
    // Its turn had begun: it is meant for the agent, whatever is heard now. A note is of another message.
    const isBegun = row.historyTo !== undefined || (await journal.steps(row.seq)).some(({ kind }) => kind !== 'note');
    if (isBegun) return await turn({ ...row, message }, signal, Promise.resolve());
    const { heard, isWhole } = await this.#hear(row, signal);
    const words = heard.map((note) => note.words).filter((text) => text !== '');
    if (words.some((text) => isNamed(text, patterns(message.channel)))) {
      // In memory, as it was: a turn that a crash interrupts goes on without it.
      const taken = backlog.take(message);
      if (taken) backlog.hold(row, taken);
      const background = taken ? { background: taken.lines } : {};
      try {
        return await turn({ ...row, message: { ...message, ...background } }, signal, Promise.resolve());
      } catch (error) {
        backlog.giveBackOf(message.id); // the next attempt takes it again
        throw error;
      }
    }
    return async () => {
      const text = [message.text, ...words.map((said) => `(by voice) ${said}`)].filter((line) => line !== '').join(' ');
      await this.#pass(row, isWhole ? NOT_MENTIONED : NOT_HEARD, started);
      backlog.note({ ...message, text });
      await this.#remove(row);
    };
  }

  /** `isWhole`: every recording was understood. */
  async #hear(row: ChatRow, signal: AbortSignal): Promise<{ readonly heard: readonly Heard[]; readonly isWhole: boolean }> {
    const { message, session } = row;
    const { transcriber: create, channel: find, workspace, uploads } = this.#options;
    const notes = voiceNotes(message);
    const transcriber = create?.({
      ...{ session, channel: message.channel, sender: `${message.channel}:${message.senderId}` },
      purpose: 'transcription',
    });
    const heard: Heard[] = [];
    if (!transcriber) return { heard, isWhole: false };
    let isWhole = true;
    const path = workspace(session);
    const fetching = AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]);
    const hearing = AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS + TRANSCRIPTION_MS)]);
    for (const { ref, index } of notes) {
      const onUnstored = (error: unknown): void => this.#report(message, ref, error);
      try {
        const channel: FindChannel = (limit) => find(message.channel, limit);
        const file = await fetchFile(message, ref, index, { channel, workspace: path, uploads, signal: fetching });
        const entry = { file, words: '' };
        heard.push(entry);
        entry.words = await transcribe(file, path, transcriber, { signal: hearing, onUnstored });
      } catch (error) {
        signal.throwIfAborted();
        isWhole = false;
        this.#report(message, ref, isGatehouseError(error) ? error : toTranscriptionError(error));
      }
    }
    return { heard, isWhole };
  }

  /** The end of a row without a turn. Rejects when the journal cannot be written. */
  async #pass(row: ChatRow, outcome: string, started: number): Promise<void> {
    const { journal, clock, emit } = this.#options;
    const { seq, generation, session, message } = row;
    const committed = await journal.finish({ seq, generation, state: 'DONE', outcome, lines: [], parts: [] });
    if (!committed) return;
    const ms = clock.monotonic() - started;
    const { id: messageId, channel } = message;
    emit({ type: 'finished', at: clock.now(), messageId, session, channel, outcome, ms });
  }

  /**
   * What was not said to the agent does not stay with it, nor what an attempt left that a crash ended. A file
   * that cannot be removed is reported and changes nothing else.
   */
  async #remove({ session, message }: ChatRow): Promise<void> {
    const notes = voiceNotes(message);
    try {
      const files = notes.map(({ index }) => ({ message, index }));
      await removeStored(this.#options.workspace(session), files);
    } catch (error) {
      if (notes[0]) this.#report(message, notes[0].ref, error);
    }
  }

  #report({ id: messageId, channel }: InboundMessage, ref: MediaRef, error: unknown): void {
    const code = isGatehouseError(error) ? error.code : 'GH1505';
    const { clock, emit } = this.#options;
    emit({ type: 'failed', at: clock.now(), messageId, channel, code, detail: `${ref.kind}: ${errorText(error)}` });
  }
}

function voiceNotes({ media }: InboundMessage): readonly { ref: MediaRef; index: number }[] {
  return media.slice(0, MAX_FILES).flatMap((ref, index) => (ref.kind === 'voice' ? [{ ref, index }] : []));
}
