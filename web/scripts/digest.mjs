// Writes into dist what it was built from; web_test.go computes the same.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const root = new URL('..', import.meta.url).pathname
const files = readdirSync(root + 'src', { recursive: true, withFileTypes: true })
  .filter(f => f.isFile())
  .map(f => `${f.parentPath}/${f.name}`.slice(root.length))
  .concat('index.html', 'package.json', 'package-lock.json', 'tsconfig.json', 'vite.config.ts')
  .sort()
const sum = createHash('sha256')
for (const name of files) {
  const content = readFileSync(root + name)
  sum.update(`${name}\n${content.length}\n`)
  sum.update(content)
}
writeFileSync(root + 'dist/sources.sha256', sum.digest('hex') + '\n')
