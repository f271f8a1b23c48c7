/** The command lines of the program that stand in blocks of README and docs. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface CommandLine {
  /** Relative to the root. */
  readonly page: string;
  /** As it stands there. */
  readonly text: string;
  /** Behind `gatehouse`, as a shell splits them; without a comment, a redirection or the next command. */
  readonly words: readonly string[];
  /** The file that standard input comes from. */
  readonly input?: string;
}

/** The pages of the repository that people read. */
export function pagesOf(root: string): readonly string[] {
  return ['*.md', 'docs/**/*.md', 'channels/**/*.md'].flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
}

/** In the order in which they stand. */
export function commandLines(root: string): readonly CommandLine[] {
  return pagesOf(root).flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const blocks = [...text.matchAll(/^ *```(?:sh|bash|console)[^\n]*\n([\s\S]*?)^ *```/gm)].map(([, block = '']) => block);
    const lines = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n'));
    const ours = lines.map((line) => line.trim().replace(/^\$ /, '')).filter((line) => line.startsWith('gatehouse '));
    return ours.map((line) => toCommandLine(page, line));
  });
}

function toCommandLine(page: string, text: string): CommandLine {
  const [, ...all] = [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
  const end = all.findIndex((word) => /^(?:#|>|<|\||&&|;)/.test(word));
  const words = end < 0 ? all : all.slice(0, end);
  const input = all[all.indexOf('<') + 1];
  return { page, text, words, ...(all.includes('<') && input !== undefined ? { input } : {}) };
}
