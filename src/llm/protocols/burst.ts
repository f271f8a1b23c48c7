import type { ModelEvent } from '../../core/model.ts';

/** Pieces of one burst that are passed on singly: readers see the answer grow. */
const SINGLE_PIECES = 32;

/**
 * Adds an event to those that arrived at once. Behind the first pieces neighbours of one kind are joined: a
 * server or proxy that sends thousands of words in one write would otherwise cost each wrapper around a model
 * a few promises per word.
 */
export function addToBurst(burst: ModelEvent[], event: ModelEvent): void {
  const last = burst.length > SINGLE_PIECES ? burst.at(-1) : undefined;
  if (last && (event.type === 'text' || event.type === 'reasoning') && last.type === event.type) {
    burst[burst.length - 1] = { type: event.type, text: last.text + event.text };
  } else burst.push(event);
}
