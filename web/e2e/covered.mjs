// What the scenarios asked of the hosts, held to what the sources call: each endpoint that
// a screen calls was asked by some scenario, and nothing else was.
import { readdirSync, readFileSync } from 'node:fs'

const root = new URL('..', import.meta.url).pathname
const read = name => readFileSync(root + name, 'utf8')
const documented = [...read('src/api/schema.gen.ts').matchAll(/^\t"((?:GET|POST|PUT|PATCH|DELETE) [^"]+)":/gm)].map(m => m[1])
const called = new Set(
  readdirSync(root + 'src', { recursive: true })
    .filter(f => /\.tsx?$/.test(f) && !f.endsWith('schema.gen.ts'))
    .flatMap(f => [...read('src/' + f).matchAll(/'((?:GET|POST|PUT|PATCH|DELETE) \/[^']*)'/g)].map(m => m[1])),
)
// A literal segment goes before a parameter, as in the host.
const forms = documented
  .map(e => ({ e, form: new RegExp('^' + e.replaceAll(/[.]/g, '\\.').replaceAll(/\{\w+\}/g, '[^/]+') + '$'), holes: e.split('{').length }))
  .sort((a, b) => a.holes - b.holes)
const asked = new Set()
const strange = new Set()
for (const f of readdirSync(root + '.calls')) {
  for (const line of read('.calls/' + f).split('\n').filter(Boolean)) {
    const found = forms.find(({ form }) => form.test(line))
    if (found) asked.add(found.e)
    else strange.add(line)
  }
}
// Where the browser is sent, and no script calls.
const navigations = new Set(['GET /auth/oidc/callback'])
const never = [...called].filter(e => !asked.has(e))
const more = [...asked].filter(e => !called.has(e) && !navigations.has(e))
for (const [what, list] of [['called by the sources, and asked in no scenario', never], ['asked, and called nowhere in the sources', more], ['asked, and not in the document', [...strange]]]) {
  if (list.length) {
    console.error(`${what}:\n  ${list.join('\n  ')}`)
    process.exitCode = 1
  }
}
console.log(`${asked.size} of ${documented.length} endpoints were asked`)
