/** The buttons of `/sessions`. */
import { shortHash } from '../../core/ids.ts';
import type { Choice } from '../../core/message.ts';

/** Spec A6: of a label, and of a name in the marks of the active topic. */
const LABEL_CHARS = 18;
const ACTIVE_CHARS = 12;
const PREFIX = 's:';
/** `Choice.value` holds no more. A longer name is told by its digest, behind a sign that no name contains. */
const VALUE_BYTES = 60;

export function pickerOf(topics: readonly string[], active: string): readonly Choice[] {
  return topics.map((name) => ({ label: labelOf(name, name === active), value: valueFor(name) }));
}

function labelOf(topic: string, isActive: boolean): string {
  const name = topic === '' ? 'default' : topic;
  return isActive ? `>> ${cut(name, ACTIVE_CHARS)} <<` : cut(name, LABEL_CHARS);
}

function cut(name: string, most: number): string {
  const chars = [...name];
  return chars.length <= most ? name : `${chars.slice(0, most - 1).join('')}…`;
}

function valueFor(topic: string): string {
  const value = `${PREFIX}${topic}`;
  return Buffer.byteLength(value) <= VALUE_BYTES ? value : `${PREFIX}#${shortHash(topic)}`;
}

export function isPick(text: string): boolean {
  return text.startsWith(PREFIX) && text.length <= VALUE_BYTES && !text.includes('\n');
}

/** Undefined = there is no such topic any more. */
export function topicPicked(value: string, topics: readonly string[]): string | undefined {
  return ['', ...topics].find((name) => valueFor(name) === value);
}
