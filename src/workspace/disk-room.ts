import type { DiskClaim } from '../core/ports.ts';

interface RoomActions {
  readonly reserve: (bytes: number) => Promise<void>;
  /** Changes what is counted as claimed, and as claimed but not written. */
  readonly count: (claimed: number, unwritten: number) => void;
  readonly stored: (bytes: number) => void;
}

/** Room that a file was given until it is stored, or was not. */
export class Room implements DiskClaim {
  readonly #actions: RoomActions;
  #claimed = 0;
  /** Of these, what the file has. */
  #written = 0;

  constructor(actions: RoomActions) {
    this.#actions = actions;
  }

  /** So many bytes more. Also for none: there may be no room at all. */
  async claim(bytes: number): Promise<void> {
    await this.#actions.reserve(bytes);
    this.#claimed += bytes;
  }

  async cover(bytes: number): Promise<void> {
    if (bytes > this.#claimed) await this.claim(bytes - this.#claimed);
    this.#actions.count(0, this.#written - bytes);
    this.#written = bytes;
  }

  stored(bytes: number): void {
    this[Symbol.dispose]();
    this.#actions.stored(bytes);
  }

  [Symbol.dispose](): void {
    this.#actions.count(-this.#claimed, this.#written - this.#claimed);
    this.#claimed = 0;
    this.#written = 0;
  }
}
