/** One line of the report. Without a limit it only informs. */
export interface Figure {
  readonly bench: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly limit?: { readonly atMost: number } | { readonly atLeast: number };
  /** How it came about: single runs, what it was compared with. */
  readonly note?: string;
}

/**
 * A figure that cannot be measured here, e.g. for want of root: it is named with the reason, so that a report
 * without it does not look whole. With `CI` set it counts as missed.
 */
export function notMeasured(figure: Omit<Figure, 'value' | 'note'>, reason: string, env = process.env): Figure {
  const { limit, ...rest } = figure;
  return { ...rest, value: Number.NaN, note: `not measured: ${reason}`, ...(env['CI'] && limit ? { limit } : {}) };
}

/** NaN, from a measurement that has no samples, passes nothing. */
export function passes({ value, limit }: Figure): boolean {
  if (!limit) return true;
  return 'atMost' in limit ? value <= limit.atMost : value >= limit.atLeast;
}

export function toTable(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.bench,
    figure.name,
    `${toShort(figure.value)} ${figure.unit}`.trim(),
    limitText(figure),
    figure.limit ? (passes(figure) ? 'pass' : 'FAIL') : '',
    figure.note ?? '',
  ]);
  const lines = [['bench', 'figure', 'measured', 'limit', 'result', 'note'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const pad = (line: readonly string[]): string =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...body] = lines;
  return [pad(head), pad([...widths.map((width) => '-'.repeat(width)), '----']), ...body.map(pad)].join('\n');
}

function limitText({ limit, unit }: Figure): string {
  if (!limit) return '';
  return 'atMost' in limit ? `≤ ${toShort(limit.atMost)} ${unit}`.trim() : `≥ ${toShort(limit.atLeast)} ${unit}`.trim();
}

export function toShort(value: number): string {
  if (!Number.isFinite(value)) return 'none';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
