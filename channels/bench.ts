import type { InboundMessage } from '../src/core/message.ts';

/**
 * What `npm run bench -- --only channels` measures of an adapter: the export `benchCase` of
 * `channels/<type>/bench-case.ts`.
 */
export interface BenchCase {
  /**
   * Message `number` as the platform sends it, in the bytes that the adapter's own code is the first to read.
   * What is returned reads it: verification, parsing and mapping, up to what the adapter offers. Each number
   * is another message of one private chat.
   */
  readonly receive: (number: number) => () => InboundMessage | undefined | Promise<InboundMessage | undefined>;
  /** Markdown in the form the adapter sends. */
  readonly render: (markdown: string) => unknown;
}
