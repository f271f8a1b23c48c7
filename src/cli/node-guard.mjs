// Loaded before everything else (`node --import`), so it must parse on any Node that has ES modules.
import module from 'node:module';

const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  process.stderr.write(
    `gatehouse needs Node 24 or newer; this is ${process.versions.node}. In a checkout run \`npm ci\` (it brings Node 24), then \`npm start\`.\n`,
  );
  process.exit(1);
}
// Compiled code is kept between starts: the largest saving of their time. Without a writable cache, harmless.
module.enableCompileCache?.();
