/** The table of a sweep, as it is printed and as it stands in channels/README.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Verdict } from './judge.ts';

const COLUMNS = [
  'channel',
  'points',
  'runs',
  'kills',
  'messages',
  'not offered again',
  'lost',
  'twice',
  'tools twice',
  'notices',
  'parts UNKNOWN (missing + arrived)',
  'tools UNKNOWN',
  'model calls repeated',
];

/** The first two lines, in Markdown. */
export const TABLE_HEAD: readonly string[] = [`| ${COLUMNS.join(' | ')} |`, `|${'---|'.repeat(COLUMNS.length)}`];

/**
 * One line of the table. `points` are those of one undisturbed run. What has no column, because it must be
 * 0, stands behind the name where it is not.
 */
export function tableRow(name: string, points: number, verdict: Verdict): string {
  const { runs, kills, messages, notOffered, lost, twice, toolsTwice, notices } = verdict;
  const { unknownMissing, unknownArrived, unknownTools, modelRepeats, unfinished, paidTwice } = verdict;
  const more = [...(unfinished > 0 ? [`${unfinished} unfinished`] : []), ...(paidTwice > 0 ? [`${paidTwice} paid twice`] : [])];
  const title = more.length > 0 ? `${name} (${more.join(', ')})` : name;
  return `| ${[title, points, runs, kills, messages, notOffered, lost, twice, toolsTwice, notices, `${unknownMissing} + ${unknownArrived}`, unknownTools, modelRepeats].join(' | ')} |`;
}

/** Replaces the table of the page; what it states must be what a whole sweep counted. */
export async function writeTable(table: string): Promise<void> {
  const page = join(import.meta.dirname, '../../../channels/README.md');
  const before = await readFile(page, 'utf8');
  await writeFile(
    page,
    before.replace(/(<!-- sweep -->\n)[\s\S]*(<!-- \/sweep -->)/, (_all, head, foot) => head + table + foot),
  );
}
