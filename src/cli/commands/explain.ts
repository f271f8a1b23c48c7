import { ERROR_CODES, type ErrorCode } from '../../core/error-codes.ts';
import { nearest } from '../../lib/edit-distance.ts';
import type { Command } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable } from '../output.ts';

/** Explains one error code, or lists all. */
export const explain: Command<{ readonly code?: string }> = async ({ out }, { code }) => {
  if (code === undefined) {
    const all = Object.entries(ERROR_CODES).map(([id, { title, hint }]) => ({ code: id, title, hint }));
    out.data(formatTable(all.map((entry) => [entry.code, entry.title])));
    out.document({ codes: all });
    return EXIT.ok;
  }
  const id = /^\d{4}$/.test(code) ? `GH${code}` : code.toUpperCase();
  if (!isErrorCode(id)) {
    const meant = nearest(id, Object.keys(ERROR_CODES));
    const hint = meant === undefined ? 'run `gatehouse explain` for all codes' : `did you mean ${meant}?`;
    out.fail({ code: 'GH1003', message: `there is no error code ${code.slice(0, 40)}`, hint });
    return EXIT.failed;
  }
  const { title, hint } = ERROR_CODES[id];
  out.data(`${out.paint('bold', id)}  ${title}\n  → ${hint}`);
  out.document({ code: id, title, hint });
  return EXIT.ok;
};

function isErrorCode(id: string): id is ErrorCode {
  return Object.hasOwn(ERROR_CODES, id);
}
