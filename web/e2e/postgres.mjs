// A throw-away PostgreSQL, reached by its socket alone, which ends with its test.
import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const debian = '/usr/lib/postgresql'
const starting = 30_000
const nobody = 65534 // owns it where the tests run as root, which PostgreSQL refuses

/** The folder that holds postgres and initdb, null where the machine has none. */
export function binaries() {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)).map(v => join(debian, v, 'bin')) : []
  const path = (process.env.PATH ?? '').split(':')
  return [...versions, ...path].find(dir => existsSync(join(dir, 'postgres')) && existsSync(join(dir, 'initdb'))) ?? null
}

/** Starts a cluster, and answers how a host reaches it. */
export async function postgres(t) {
  const bin = binaries()
  const dir = mkdtempSync(join(tmpdir(), 'pg-')) // short: a socket's path has room for 107 bytes
  const root = process.getuid() === 0
  if (root) chownSync(dir, nobody, nobody)
  const how = { cwd: dir, env: { PATH: process.env.PATH, LC_ALL: 'C' }, ...(root ? { uid: nobody, gid: nobody } : {}) }
  const data = join(dir, 'data')
  const made = spawnSync(join(bin, 'initdb'), ['--pgdata', data, '--username', 'postgres', '--encoding', 'UTF8', '--no-locale', '--no-sync', '--auth', 'trust'], { ...how, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`)
  appendFileSync(join(data, 'postgresql.conf'), `listen_addresses = ''\nunix_socket_directories = '${dir}'\nfsync = off\nfull_page_writes = off\n`)
  const server = spawn(join(bin, 'postgres'), ['-D', data], { ...how, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise(resolve => server.on('exit', resolve))
  t.after(async () => {
    server.kill('SIGQUIT')
    await ended
    rmSync(dir, { recursive: true, force: true })
  })
  let log = ''
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('postgres did not start:\n' + log)), starting)
    const read = chunk => {
      log += chunk
      if (!log.includes('ready to accept connections')) return
      clearTimeout(timer)
      resolve()
    }
    server.stdout.on('data', read)
    server.stderr.on('data', read)
    server.on('exit', code => reject(new Error(`postgres ended with ${code}:\n${log}`)))
  })
  return `host=${dir} user=postgres dbname=postgres sslmode=disable`
}
