// the packages for documents -> how runs read and make them
import type { Documents } from '../../core/document.ts';
import { DOCUMENT_PACKAGES, documentWorker } from '../../tools/document-worker.ts';
import { missingPackages } from '../../tools/installed.ts';
import type { Base } from './options.ts';

/** For calls of one run. Undefined = packages are missing; the log names the command. */
export function composeDocuments({ options, programs }: Base): (run: string) => Documents | undefined {
  const command = missingPackages(DOCUMENT_PACKAGES);
  if (command === undefined) return (run) => documentWorker({ spawner: programs.spawner, run });
  const detail = 'there are no tools `read_document` and `convert_markdown_to_docx`';
  options.logger.warn('packages.missing', { code: 'GH2013', detail, hint: command });
  return () => undefined;
}
