/** The parts of the outbox that put a question of a run to a person. */
import { sentForId } from '../core/ids.ts';

/**
 * The id of the wait whose question a part of this key puts; of any other part, an id that no wait has. A
 * question that is asked again under its id has a suffix: see `addParts`.
 */
export function waitOfPart(key: string): string {
  return key.replace(sentForId(''), '').replace(/#\d+(?:~in\d+\.\d+)?$/, '');
}
