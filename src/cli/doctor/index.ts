/** What `gatehouse doctor` looks at, in the order of its lines. At most 25: a list that is read. */
import type { Check } from './check.ts';
import { budgetCheck, configFile, ownerCheck, sameConfig, security } from './config.ts';
import { dataDirectory, leftovers, schemaFile, secretFiles, staleRecord } from './files.ts';
import { clockCheck, journalCheck, letters, questionsOpen } from './journal.ts';
import { channels, models, running } from './live.ts';
import { diskCheck, nodeCheck, portCheck, sandboxCheck } from './machine.ts';

export const CHECKS: readonly Check[] = [
  ...[nodeCheck(), dataDirectory, secretFiles, diskCheck(), leftovers],
  ...[configFile, sameConfig, schemaFile, security, ownerCheck, budgetCheck],
  ...[staleRecord, portCheck, running],
  ...[models, channels, sandboxCheck],
  ...[journalCheck, clockCheck, letters, questionsOpen],
];
