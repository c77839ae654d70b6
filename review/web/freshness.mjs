// Says whether dist/ was built from the sources beside it: a hash of them lies in dist/sources.sha256.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';

const sources = ['index.html', 'package-lock.json', 'vite.config.js', ...readdirSync('src').sort().map((f) => `src/${f}`)];
const hash = createHash('sha256');
for (const file of sources) hash.update(`${file}\n`).update(readFileSync(file)).update('\n');
const now = hash.digest('hex') + '\n';
if (process.argv[2] === 'write') writeFileSync('dist/sources.sha256', now);
else if (readFileSync('dist/sources.sha256', 'utf8') !== now) {
  console.error('dist/ is older than its sources: run npm run build and commit dist/');
  process.exit(1);
}
