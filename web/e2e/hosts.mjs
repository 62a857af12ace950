// Real hosts: bin/authz over SQLite, each in a directory of its own, which ends with its test.
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const binary = new URL('../../bin/authz', import.meta.url).pathname
/** A plugin that the binary does not carry, by its path. */
export const plugin = name => new URL('../../bin/authz-plugin-' + name, import.meta.url).pathname
const starting = 20_000
const env = { PATH: process.env.PATH, HOME: process.env.HOME } // no AUTHZ_… of who runs the tests

export const owner = 'owner'

// A key that many roles hold, one that has to be granted at folders, one that counts
// everywhere alone, and one that is implied above.
const catalog = `
namespaces: [docs]
permissions:
  docs.files.read: {description: Open a document, scopes: [docs.folder, docs.doc]}
  docs.files.edit: {description: Edit a document, scopes: [docs.folder, docs.doc]}
  docs.files.delete: {description: Delete a document, scopes: [docs.folder]}
  docs.files.read_tree: {description: See the folders above a document, scopes: [docs.folder, docs.doc], impliedOnAncestors: true}
  docs.bills.read: {description: See bills}
scopeTypes:
  docs.folder:
    parent: docs.folder
    requestable:
      patterns: [docs.files.read, docs.files.edit]
      maxDurationMs: 604800000
      policy: {stages: [{kind: named_approvers, roleId: approver}]}
  docs.doc: {parent: docs.folder}
constraints:
  sod: [{id: edits-and-pays, description: Who edits does not see bills, sets: [[docs.files.edit], [docs.bills.read]]}]
`

/** What hosts over one database share. */
export const secrets = () => ({ host: randomBytes(32).toString('base64'), owner: randomBytes(32).toString('base64'), docs: randomBytes(32).toString('hex') })

/**
 * Starts a host. with: oidc {issuer, secret}, keep, session (YAML), empty (no org), stays (at one port,
 * and may ask others on this machine), audit (a hash
 * chain, and its log may be retained), plugins and more (YAML), main (its storage), shared (secrets).
 */
export async function host(t, { oidc, keep = false, session = '', empty = false, stays = false, orgCreation = 'bootstrap', audit = false, plugins = '', more = '', files = {}, main = '{plugin: sqlite, config: {path: authz.db}}', shared = secrets() } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'az-'))
  const secret = shared.owner
  const file = (name, text) => writeFileSync(join(dir, name), text, { mode: 0o600 })
  file('host.key', shared.host)
  file('owner.secret', secret)
  file('docs.secret', shared.docs)
  file('docs.catalog.yaml', catalog)
  for (const [name, text] of Object.entries(files)) file(name, text)
  if (oidc) file('oidc.secret', oidc.secret)
  file('authz.yaml', `
listen: 127.0.0.1:${stays ? await freePort() : 0}
ops_listen: ""
log: {access: false}
plugin_dirs: []
run_dir: run
plugins:
  main: ${main}
  ${plugins}
service:
  storage: {driver: main}
  ${stays ? 'relay: {allow_loopback: true}' : ''}
  host_keys: ["file:host.key"]
  org_creation: ${orgCreation}
  bootstrap: {user_id: ${owner}, secret: "file:owner.secret", keep: ${keep}}
  ${oidc ? `oidc: {issuer: "${oidc.issuer}", client_id: dashboard, client_secret: "file:oidc.secret"}` : ''}
  ${session}
  local: {acme: [docs], beta: [docs]}
applications:
  docs:
    catalog: docs.catalog.yaml
    storage: {driver: main, partition: docs}
    provider: {secret: "file:docs.secret", audit_opt_in: ${audit}}
    audit: {hash_chain: ${audit}}
    ancestry: {kind: stored}
    client: {unknown_scope_types: error}
${more}
`)
  const running = await serve(t, dir, serving(dir))
  const { base } = running
  const local = operations(dir, 'docs')
  /** Has a configured directory imported, by the command. */
  const importDirectory = name => {
    const run = spawnSync(binary, ['directory', 'import', name, '--config', join(dir, 'authz.yaml')], { encoding: 'utf8', env })
    if (run.status !== 0) throw new Error(run.stderr)
  }
  const grant = input => local('createGrant', { input })
  const h = { ...running, dir, secret, local, grant, importDirectory, signIn: (org, user, password) => session_(base, org, user, password) }
  if (!empty) await found(h)
  return h
}

const serving = dir => ['serve', '--config', join(dir, 'authz.yaml')]

/** Starts a process in a directory; it is up when it says so. */
async function launch(dir, args, ready = /ready: .*?listen=(\S+)/) {
  const child = spawn(binary, args, { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'], env })
  let log = ''
  const base = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the host did not start:\n' + log)), starting)
    const read = chunk => {
      log += chunk
      const at = ready.exec(log)
      if (!at) return
      clearTimeout(timer)
      resolve('http://' + at[1])
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.on('exit', code => reject(new Error(`the host ended with ${code}:\n${log}`)))
  })
  const ended = new Promise(resolve => child.on('exit', resolve))
  const stop = async (signal = 'SIGTERM') => {
    child.kill(signal)
    await ended
  }
  return { base, stop, freeze: () => child.kill('SIGSTOP'), log: () => log }
}

/** Runs a host in a directory that ends with the test. It can be killed, and started again. */
async function serve(t, dir, args, ready) {
  let run = await launch(dir, args, ready)
  const stop = () => run.stop()
  const visitors = [] // leave before the host does
  t.after(async () => {
    for (const leave of visitors) await leave()
    await stop()
    rmSync(dir, { recursive: true, force: true })
  })
  return { base: run.base, log: () => run.log(), stop, kill: () => run.stop('SIGKILL'), freeze: () => run.freeze(), start: async () => void (run = await launch(dir, args, ready)), visitors }
}

/** Operations of an application over the administration socket of its host. */
function operations(dir, app) {
  return (op, body = {}) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body)
      const r = request({ socketPath: join(dir, 'run', 'authz.sock'), path: `/local/v1/${app}/${op}`, method: 'POST', headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) } }, answer => {
        let told = ''
        answer.on('data', c => (told += c))
        answer.on('end', () => (answer.statusCode < 300 ? resolve(told ? JSON.parse(told) : null) : reject(new Error(`${op}: ${answer.statusCode} ${told}`))))
      })
      r.on('error', reject)
      r.end(text)
    })
}

/** A port of loopback that nobody has, for who must be found again after a restart. */
async function freePort() {
  for (;;) {
    const port = 20_000 + randomInt(10_000) // below those of outgoing connections
    const server = createServer()
    const free = await new Promise(resolve => server.on('error', () => resolve(false)).listen(port, '127.0.0.1', () => server.close(() => resolve(true))))
    if (free) return port
  }
}

/** Starts a host that serves one application alone, as it runs elsewhere: its provider secret is what its link says. */
export async function elsewhere(t, id, catalog, { mesh = '' } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'az-'))
  const file = (name, text) => writeFileSync(join(dir, name), text, { mode: 0o600 })
  const port = await freePort()
  file('secret', randomBytes(32).toString('hex'))
  file('catalog.yaml', catalog)
  file('authz.yaml', `
listen: 127.0.0.1:${port}
ops_listen: ""
log: {access: false}
plugin_dirs: []
run_dir: run
plugins: {main: {plugin: sqlite, config: {path: authz.db}}}
applications:
  ${id}:
    catalog: catalog.yaml
    storage: {driver: main, partition: ${id}}
    provider: {secret: "file:secret", audit_opt_in: true}
    ancestry: {kind: stored}
    metrics: {}
    ${mesh ? 'mesh: {enabled: true}' : ''}
`)
  if (mesh) {
    file('mesh.yaml', mesh)
    const told = spawnSync(binary, ['mesh', 'registry', 'put', join(dir, 'mesh.yaml'), '--config', join(dir, 'authz.yaml'), '--app', id, '--yes'], { encoding: 'utf8', env })
    if (told.status !== 0) throw new Error(told.stderr)
  }
  let run = await launch(dir, serving(dir))
  const stop = async () => {
    await run?.stop()
    run = null
  }
  t.after(async () => {
    await stop()
    rmSync(dir, { recursive: true, force: true })
  })
  return {
    url: `http://127.0.0.1:${port}/apps/${id}`, local: operations(dir, id), stop, start: async () => void (run = await launch(dir, serving(dir))),
    secret: text => file('secret', text),
    publish: async text => {
      if (text) {
        await stop()
        file('catalog.yaml', text)
        run = await launch(dir, serving(dir))
      }
      const told = spawnSync(binary, ['catalog', 'publish', join(dir, 'catalog.yaml'), '--config', join(dir, 'authz.yaml')], { encoding: 'utf8', env })
      if (told.status !== 0) throw new Error(told.stderr)
    },
  }
}

/** The sample company of quickstart, for pictures. */
export async function sample(t) {
  const dir = mkdtempSync(join(tmpdir(), 'az-'))
  const running = await serve(t, dir, ['quickstart', '--listen', '127.0.0.1:0', '--data-dir', join(dir, 'data')], /authz is ready at http:\/\/(\S+)/)
  const secret = readFileSync(join(dir, 'data', 'owner.secret'), 'utf8').trim()
  return { ...running, dir, secret, owner: await session_(running.base, 'acme', owner, secret) }
}

/** Somebody at the API, beside the browser. */
async function session_(base, org, userId, secret) {
  const headers = { Origin: base, 'Content-Type': 'application/json' }
  const told = await fetch(base + '/api/v1/auth/sign-in', { method: 'POST', headers, body: JSON.stringify({ ...(org ? { org } : {}), userId, proof: { kind: 'bootstrap', secret } }) })
  if (!told.ok) throw new Error(`sign-in: ${told.status} ${await told.text()}`)
  const { csrfToken, session } = await told.json()
  const cookie = told.headers.getSetCookie().find(c => c.includes('authz_session')).split(';')[0]
  const api = async (method, path, body) => {
    const answer = await fetch(base + '/api/v1' + path, { method, headers: { ...headers, Cookie: cookie, 'X-Authz-Csrf': csrfToken }, ...(body ? { body: JSON.stringify(body) } : {}) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text ? JSON.parse(text) : null
  }
  return { api, cookie, session }
}

function publish(h) {
  const published = spawnSync(binary, ['catalog', 'publish', join(h.dir, 'docs.catalog.yaml'), '--config', join(h.dir, 'authz.yaml')], { encoding: 'utf8', env })
  if (published.status !== 0) throw new Error(published.stderr)
}

/** Makes the org acme over the application docs, with its vocabulary published. */
async function found(h) {
  await h.grant({ subject: 'user:' + owner, pattern: 'authz_internal.*' })
  publish(h)
  const first = await h.signIn('', owner, h.secret)
  await first.api('POST', '/orgs', { id: 'acme', name: 'Acme', ownerUserId: owner })
  h.owner = await h.signIn('acme', owner, h.secret)
  await h.owner.api('POST', '/orgs/acme/applications', { id: 'docs', name: 'Documents', namespaces: ['docs'] })
  await h.owner.api('POST', '/orgs/acme/applications/docs/link', { relayUrl: 'local:docs' })
  const { published: head } = await h.owner.api('GET', '/orgs/acme/applications/docs/catalog')
  await h.owner.api('POST', '/orgs/acme/applications/docs/publish', { document: head.document })
}

/** A little world: folders, roles, groups and people who show every way to a verdict. */
export async function world(h) {
  await h.local('setScopeParents', { entries: [{ scope: 'docs.folder:team', parents: [] }, { scope: 'docs.doc:plan', parents: ['docs.folder:team'] }] })
  const role = (id, name, patterns) => h.local('createRole', { input: { id, name, patterns } })
  await role('reader', 'Reader', ['docs.files.read'])
  await role('editor', 'Editor', ['docs.files.*'])
  await role('office', 'Office', ['docs.files.read', 'docs.bills.read'])
  const group = (id, name, parents = []) => h.local('createGroup', { input: { id, name, parents } })
  await group('company', 'Company')
  await group('staff', 'Staff', ['company'])
  await h.local('setGroupMembership', { userId: 'ann', groupIds: ['staff'] })
  await h.grant({ subject: 'group:company', roleId: 'editor', scope: 'docs.folder:team' })
  await h.grant({ subject: 'user:ben', roleId: 'reader', scope: 'docs.folder:team' })
  await h.grant({ subject: 'user:dan', roleId: 'editor', scope: '*' })
  await h.local('createRevoke', { input: { userId: 'dan', pattern: 'docs.files.*', scope: 'docs.folder:team' } })
  await h.grant({ subject: 'user:eve', roleId: 'editor', scope: '*' })
  await h.local('setUserActive', { userId: 'eve', active: false })
  await h.grant({ subject: 'user:finn', roleId: 'editor', scope: 'docs.folder:team', expiresAt: Date.now() + 400 })
  await h.grant({ subject: 'user:gus', roleId: 'office', scope: 'docs.folder:team' })
}

/** The world, with a role that may be asked for: two stages, and what they want to know. */
export async function requestable(h) {
  await world(h)
  for (const [id, name] of [['approver', 'Approver'], ['security', 'Security']]) {
    await h.local('createRole', { input: { id, name, patterns: ['authz_internal.requests.*'] } })
    await h.grant({ subject: 'user:owner', roleId: id, scope: '*' })
  }
  const stages = ['approver', 'security'].map(roleId => ({ kind: 'named_approvers', roleId }))
  const prompts = [{ id: 'why', label: 'Reason' }, { id: 'team', label: 'Team', kind: 'select', options: ['finance', 'legal'], required: false }]
  await h.local('updateRole', { roleId: 'reader', input: { description: 'Opens documents', requestable: { stages, prompts } } })
}

/** Publishes at the application a catalog that has one key more. */
export function publishAgain(h) {
  writeFileSync(join(h.dir, 'docs.catalog.yaml'), catalog.replace('permissions:\n', 'permissions:\n  docs.files.print: {description: Print a document, scopes: [docs.folder]}\n'))
  publish(h)
}

/** Publishes a catalog that has one key less, one more and one changed; answers the document before it. */
export async function republished(h) {
  const { published: { document } } = await h.owner.api('GET', '/orgs/acme/applications/docs/catalog')
  const next = structuredClone(document)
  next.leaves = next.leaves.filter(l => l.key !== 'docs.bills.read')
  for (const g of next.groups) {
    g.permissions = g.permissions.filter(p => p !== 'docs.bills.read')
    g.groups = g.groups.filter(p => p !== 'docs.bills')
  }
  next.groups = next.groups.filter(g => g.path !== 'docs.bills')
  delete next.constraints // one names it
  next.leaves.find(l => l.key === 'docs.files.edit').description = 'Write in a document'
  next.leaves.push({ ...next.leaves.find(l => l.key === 'docs.files.delete'), key: 'docs.files.print', name: 'print', description: 'Print a document', destructive: false })
  next.leaves.sort((a, b) => (a.key < b.key ? -1 : 1))
  next.groups.find(g => g.path === 'docs.files').permissions.push('docs.files.print')
  await h.owner.api('POST', '/orgs/acme/applications/docs/publish', { document: next })
  return document
}

/** Of everything that is administered, something to see. */
export async function administered(h) {
  await h.owner.api('POST', '/orgs/acme/seats', { userId: 'u_7', kind: 'admin', displayName: 'Una Seven', email: 'una@example.org' })
  await h.owner.api('PUT', '/orgs/acme/billing/caps/admin_seats', { cap: 4 })
  await h.owner.api('PUT', '/orgs/acme/billing/caps/linked_applications', { cap: 1 })
  await h.grant({ subject: 'service:ci', roleId: 'reader', scope: 'docs.folder:team' })
  for (const what of [{ roleId: 'editor' }, { pattern: 'docs.bills.read' }]) await h.grant({ subject: 'user:hal', scope: '*', ...what })
  await republished(h)
  publishAgain(h)
  await h.owner.api('POST', '/orgs/acme/applications/docs/audit-optin', { optIn: true })
  await h.owner.api('POST', '/orgs/acme/applications/docs/ingest-audit', {})
}
