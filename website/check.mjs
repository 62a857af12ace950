// The site loads nothing from elsewhere: pages, styles and scripts are looked through for
// what a browser would fetch.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const site = new URL('../bin/site', import.meta.url).pathname
const fetched = [/<(?:script|img|iframe|source)[^>]*\ssrc="(?:https?:)?\/\/[^"]*"/g, /<link(?![^>]*rel="canonical")[^>]*\shref="(?:https?:)?\/\/[^"]*"/g, /url\(["']?(?:https?:)?\/\/[^)]*\)/g, /@import\s+["'](?:https?:)?\/\/[^"']*/g]
let faults = 0
for (const entry of readdirSync(site, { recursive: true, withFileTypes: true })) {
  if (!/\.(html|css)$/.test(entry.name)) continue
  const file = join(entry.parentPath, entry.name)
  for (const one of fetched)
    for (const [found] of readFileSync(file, 'utf8').matchAll(one)) {
      console.error(`${file}: ${found}`)
      faults++
    }
}
if (faults) process.exit(1)
