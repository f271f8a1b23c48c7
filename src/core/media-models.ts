/** Ports for models that are not chat: text to vectors, speech to text. */

export interface Embedder {
  /** `provider/model`; vectors of different ids must not be compared. */
  readonly id: string;
  /** Known after the first call where the provider does not say before. */
  readonly dimensions: number | undefined;
  /**
   * One L2-normalised vector per text, in order. Rejects with a `GatehouseError` of code GH21xx, or with
   * `signal.reason`.
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>;
}

export interface AudioFile {
  /** Absolute path. */
  readonly path: string;
  readonly mime: string;
  readonly bytes: number;
}

export interface Transcriber {
  /** `provider/model`, or `command/<program>`. */
  readonly id: string;
  /**
   * Text as spoken, trimmed; '' where nothing was said. Rejects with a `GatehouseError` of code GH21xx, or
   * with `signal.reason`.
   */
  transcribe(file: AudioFile, signal: AbortSignal): Promise<string>;
}
