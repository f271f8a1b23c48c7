import { errorText } from '../../core/errors.ts';
import { isErrno } from '../../lib/errno.ts';

/** One thing of the source gets no copy, and the backup goes on with the next. */
export class NoCopy extends Error {
  /** Undefined = it went while its directory was copied: a copy made a moment later would lack it, too. */
  readonly reason: string | undefined;

  constructor(reason: string | undefined) {
    super(reason ?? 'it went meanwhile');
    this.name = 'NoCopy';
    this.reason = reason;
  }
}

/** What is there now is not what its directory listed, or lies elsewhere. */
export const REPLACED = 'became a link or was moved meanwhile';
const LINK = ['ELOOP', 'ENOTDIR'];
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'may not be read',
  EPERM: 'may not be read',
  ENAMETOOLONG: 'its path is too long',
  EIO: 'the disk cannot read it',
  EMFILE: 'too many files are open',
};
/** ENXIO: it became a socket. */
const WENT = ['ENOENT', 'ENXIO'];

/** Reads of the source. Whatever fails here is a matter of that one file: rejects with `NoCopy`. */
export async function ofSource<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof NoCopy) throw error;
    throw new NoCopy(reasonOf(error));
  }
}

function reasonOf(error: unknown): string | undefined {
  if (isErrno(error, ...WENT)) return undefined;
  if (isErrno(error, ...LINK)) return REPLACED;
  const code = codeOf(error);
  return REASONS[code] ?? (code === '' ? errorText(error) : `cannot be read: ${code}`);
}

/** The disk of the copy does not take this one name or size; everything else there ends the backup. */
const REFUSED: Readonly<Record<string, string>> = {
  ENAMETOOLONG: 'its path would be too long in the copy',
  EILSEQ: 'the disk of the copy does not take its name',
  EINVAL: 'the disk of the copy does not take it',
  EEXIST: 'on the disk of the copy another one has its name',
  EFBIG: 'it is larger than the disk of the copy takes',
};

/** Writes of the copy. Rejects with `NoCopy` where only this one is refused, else with the system's error. */
export async function ofTarget<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    const reason = REFUSED[codeOf(error)];
    throw reason === undefined ? error : new NoCopy(reason);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
