import { GatehouseError, isGatehouseError } from '../src/core/errors.ts';

/** `what`: what cannot be read or written when `work` fails for another reason than one of ours. */
export async function wrapErrors<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isGatehouseError(error)) throw error;
    throw new GatehouseError('GH1401', `${what} cannot be read or written`, { cause: error });
  }
}

export function newer(path: string, version: number): GatehouseError {
  return new GatehouseError('GH1402', `${path} has schema_version ${version}; this version knows 1 and leaves it untouched`);
}
