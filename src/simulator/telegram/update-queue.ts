/** The updates of the bot and its long poll, with the offset semantics of the real server. */
import type { ServerResponse } from 'node:http';
import { Refusal } from './refusal.ts';
import { type JsonObject, num } from './wire.ts';

interface Poll {
  readonly finish: (outcome: 'updates' | 'timeout' | 'conflict' | 'gone') => void;
}

/**
 * TQueue of the real server: an offset this far ahead of the newest id is taken for one from before a restart
 * of the ids.
 */
const OFFSET_TOO_FAR = 100_000;

/** What one bot has to be told, for one poll at a time. */
export class UpdateQueue {
  /** Id of the next update that comes without one. */
  nextId = 1;
  /** Id of the newest update. */
  maxId = 0;
  /** Called after each. */
  onAdd: () => void = () => undefined;
  #queue: { update_id: number; body: JsonObject }[] = [];
  #poll: Poll | undefined;

  /** Those that are not confirmed, the oldest first. */
  get waiting(): readonly JsonObject[] {
    return this.#queue.map(({ body }) => body);
  }

  /** One of `waiting`. Another delivery of the same update stays. */
  confirm(update: JsonObject): void {
    this.#queue = this.#queue.filter(({ body }) => body !== update);
  }

  /** Drops what waits. */
  clear(): void {
    this.#queue = [];
  }

  /** Updates that no poll has confirmed yet. */
  get unconfirmed(): number {
    return this.#queue.length;
  }

  /** Ends a poll that waits. Returns the id of the update, which is filled in unless given. */
  add(update: JsonObject): number {
    const id = num(update['update_id']) ?? this.nextId;
    this.nextId = id + 1;
    this.maxId = id;
    this.#queue.push({ update_id: id, body: { ...update, update_id: id } });
    this.#poll?.finish('updates');
    this.onAdd();
    return id;
  }

  /**
   * `getUpdates`: confirms what is below the offset, and waits as long as the call says while there is
   * nothing. A second poll ends the first one with a 409.
   */
  async take(params: JsonObject, response: ServerResponse): Promise<readonly JsonObject[]> {
    this.#poll?.finish('conflict');
    const given = num(params['offset']);
    const offset = given !== undefined && given <= this.maxId + OFFSET_TOO_FAR ? given : undefined;
    // Everything below the offset is confirmed and forgotten, whatever this call will return.
    if (offset !== undefined) {
      const keep = this.#queue.findIndex((update) => update.update_id >= offset);
      if (keep !== 0) this.#queue = keep === -1 ? [] : this.#queue.slice(keep);
    }
    const timeoutMs = (num(params['timeout']) ?? 0) * 1_000;
    if (this.#queue.length === 0 && timeoutMs > 0) {
      const outcome = await this.#wait(timeoutMs, response);
      if (outcome === 'conflict') {
        throw new Refusal(
          409,
          'Conflict: terminated by other getUpdates request; make sure that only one bot instance is running',
        );
      }
    }
    const due = offset === undefined ? this.#queue : this.#queue.filter((update) => update.update_id >= offset);
    return due.slice(0, num(params['limit']) ?? 100).map((update) => update.body);
  }

  /** Ends the poll that waits, as if its client were gone. */
  close(): void {
    this.#poll?.finish('gone');
  }

  #wait(timeoutMs: number, response: ServerResponse): Promise<Parameters<Poll['finish']>[0]> {
    return new Promise((resolve) => {
      const poll: Poll = {
        finish: (outcome) => {
          clearTimeout(timer);
          if (this.#poll === poll) this.#poll = undefined;
          resolve(outcome);
        },
      };
      const timer = setTimeout(() => poll.finish('timeout'), timeoutMs);
      response.once('close', () => poll.finish('gone'));
      this.#poll = poll;
    });
  }
}
