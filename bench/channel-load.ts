/** What the process of one channel tells. ms, one of each round. */
export interface ChannelWork {
  /** From the platform's bytes to the message being on the disk. */
  readonly receiveMs: readonly number[];
  /** Of that, the adapter's own part. */
  readonly parseMs: readonly number[];
  /** From 4,000 characters of Markdown to what the adapter sends. */
  readonly renderMs: readonly number[];
}
