// npm run pictures: what `npm start` looks like, recorded from a real start in a real terminal (tmux) without
// a key, drawn as docs/pictures/terminal.svg. Needs tmux; end with a look at the picture.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const [COLUMNS, ROWS] = [112, 24];
/** Of one character. px */
const [WIDTH, HEIGHT, MARGIN] = [8.4, 18, 16];
/** What a person types, and what shows that it was answered. */
const TYPED: readonly (readonly [string, RegExp])[] = [
  ['What can you do?', /received message 1/],
  ['/demo tool', /tool[\s\S]*\n> *$/m],
  ['/demo stream', /59 60/],
];
/** As styleText writes them; each readable on the dark ground of the picture. */
const COLORS: Readonly<Record<string, string>> = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 36: '#79c0ff' };

const home = await mkdtemp(join(tmpdir(), 'gatehouse-picture-'));
const tmux = async (...args: string[]) => (await run('tmux', ['-S', join(home, 'socket'), '-f', '/dev/null', ...args])).stdout;
try {
  const env = [`PATH=${process.env['PATH']}`, `HOME=${home}`, 'TERM=xterm-256color', 'LANG=C.UTF-8'];
  const program = [process.execPath, join(ROOT, 'src/cli/main.ts'), 'gateway'];
  await tmux('new-session', '-d', '-x', String(COLUMNS), '-y', String(ROWS), 'env', '-i', ...env, ...program);
  await seen(/with -v[\s\S]*^> *$/m);
  for (const [words, answered] of TYPED) {
    await tmux('send-keys', words, 'Enter');
    await seen(answered);
    await sleep(500);
  }
  const screen = await tmux('capture-pane', '-p', '-e');
  await mkdir(join(ROOT, 'docs/pictures'), { recursive: true });
  await writeFile(join(ROOT, 'docs/pictures/terminal.svg'), draw(screen.trimEnd().split('\n')));
} finally {
  await tmux('kill-server').catch(() => undefined);
  await rm(home, { recursive: true, force: true });
}

async function seen(pattern: RegExp): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    if (pattern.test(await tmux('capture-pane', '-p', '-J', '-S', '-200'))) return;
    await sleep(100);
  }
  throw new Error(`no ${pattern} on the screen:\n${await tmux('capture-pane', '-p')}`);
}

function draw(lines: readonly string[]): string {
  const [width, height] = [Math.ceil(COLUMNS * WIDTH + 2 * MARGIN), lines.length * HEIGHT + 2 * MARGIN + 20];
  const rows = lines.map((line, at) => {
    const y = MARGIN + 34 + at * HEIGHT;
    return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${spans(line)}</text>`;
  });
  const lights = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, at) => `<circle cx="${MARGIN + 6 + at * 18}" cy="15" r="5.5" fill="${fill}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">`,
    '<title id="title">A terminal: the daemon starts in less than a second without a key, and a demo answers, runs a tool, and streams.</title>',
    '<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3}</style>',
    `<rect width="${width}" height="${height}" rx="10" fill="#0d1117" stroke="#30363d"/>`,
    ...lights,
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}

/** One line with its colours. */
function spans(line: string): string {
  let [fill, isBold] = ['', false];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is told colours with.
  const pieces = line.split(/\u001b\[([\d;]*)m/);
  return pieces
    .map((piece, at) => {
      if (at % 2 === 0) return piece === '' ? '' : styled(piece, fill, isBold);
      for (const code of piece.split(';')) {
        if (code === '' || code === '0') [fill, isBold] = ['', false];
        else if (code === '1') isBold = true;
        else if (code === '39') fill = '';
        else fill = COLORS[code] ?? fill;
      }
      return '';
    })
    .join('');
}

function styled(text: string, fill: string, isBold: boolean): string {
  const safe = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const style = `${fill === '' ? '' : ` fill="${fill}"`}${isBold ? ' font-weight="bold"' : ''}`;
  return style === '' ? safe : `<tspan${style}>${safe}</tspan>`;
}
