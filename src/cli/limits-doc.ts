import { CHANNELS } from '../../channels/registry.ts';
import type { PlatformLimit } from '../core/platform-limits.ts';
import { counted } from '../lib/counted.ts';

/**
 * Text of docs/limits.md: what the platforms of all channels take, from each channel's `platform-limits.ts`.
 */
export async function renderLimitsDoc(): Promise<string> {
  const descriptors = await Promise.all(Object.values(CHANNELS).map((load) => load()));
  const tables = descriptors.flatMap(({ type, platformLimits }) => {
    const limits = Object.values(platformLimits ?? {});
    return limits.length === 0
      ? []
      : [`## ${type}`, '', '| what | at most | where it was read |', '|---|---|---|', ...limits.map(row), ''];
  });
  return [
    '# What platforms take',
    '',
    'The facts that answers are cut, paced and sent by. Each stands once, in `channels/<channel>/platform-limits.ts`, with the page that',
    'says so; where no page could be read it is unverified. Generated from these files by `npm run generate`.',
    '',
    ...tables,
  ].join('\n');
}

function row({ what, value, unit, page }: PlatformLimit): string {
  const source = page ? `“${page.words}” ([${hostOf(page.address)}](${page.address}), ${page.read})` : 'unverified';
  return `| ${[what, amount(value, unit), source].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

const MIB = 1024 * 1024;

function amount(value: number, unit: string): string {
  if (unit === 'bytes' && value >= MIB) return `${value / MIB} MiB`;
  if (unit === 'ms') return value >= 86_400_000 ? counted(value / 86_400_000, 'day') : counted(value / 60_000, 'minute');
  return `${value.toLocaleString('en-US')} ${unit}`;
}

function hostOf(address: string): string {
  return new URL(address).host;
}
