import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../lib/package-info.ts';

const ROOT = packageRoot();
const PAGES = ['*.md', 'docs/**/*.md', 'channels/**/*.md', 'bench/*.md'].flatMap((pattern) => globSync(pattern, { cwd: ROOT }));
/** Words that are links or pictures; what stands in a block of code is none. */
const LINK = /\]\(([^)\s]+)\)/g;

const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8').replace(/^```[\s\S]*?^```/gm, '');

/** As GitHub makes them of headings. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...textOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading);
  const slugs = headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );
  return new Set(slugs);
}

test('every link of README and docs leads to a file, and to a heading of it where it names one', () => {
  const broken: string[] = [];
  let count = 0;
  for (const page of PAGES) {
    for (const [, link = ''] of textOf(page).matchAll(LINK)) {
      if (/^[a-z]+:/.test(link)) continue;
      count += 1;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (target.startsWith('..') || !existsSync(join(ROOT, target))) broken.push(`${page}: ${link}`);
      else if (anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor)) broken.push(`${page}: ${link}`);
    }
  }
  expect(broken).toEqual([]);
  expect(count).toBeGreaterThan(60);
});

test('every page that README names is in the published package', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
  const packed = new Set(
    [...files, 'README.md', 'LICENSE', 'package.json'].flatMap((pattern) => {
      const whole = existsSync(join(ROOT, pattern)) && statSync(join(ROOT, pattern)).isDirectory() ? `${pattern}/**` : pattern;
      return globSync(whole, { cwd: ROOT });
    }),
  );
  const named = [...textOf('README.md').matchAll(LINK)].map(([, link = '']) => link.split('#')[0] ?? '');
  const missing = named
    .filter((path) => path !== '' && !/^[a-z]+:/.test(path))
    .filter((path) => {
      const target = relative(ROOT, join(ROOT, path));
      return !packed.has(target) && ![...packed].some((file) => file.startsWith(`${target}/`));
    });
  expect(missing).toEqual([]);
});
