import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asOwner, signIn, visit } from '../browser.mjs'
import { host, plugin, requestable, secrets, world } from '../hosts.mjs'
import { provider } from '../oidc.mjs'
import { binaries, postgres } from '../postgres.mjs'

// What people at one host do is seen at another over the same database: five scenarios,
// told by number where another file tells them of one host.
const skip = binaries() === null && 'no postgres and initdb on the PATH or below /usr/lib/postgresql'
const base = '/dashboard/orgs/acme'

/** Two hosts over one PostgreSQL; the org acme is made at the first. */
async function two(t, how = {}) {
  const main = `{plugin: ${plugin('postgres')}, config: {dsn: "${await postgres(t)}"}}`
  const shared = { ...how, main, shared: secrets() }
  const one = await host(t, shared)
  const other = await host(t, { ...shared, empty: true })
  return [one, other]
}

test('1 a sign-in at one host, and at the other', { skip, timeout: 120_000 }, async t => {
  const [one, other] = await two(t)
  await world(one)
  const sessions = () => one.owner.api('GET', '/auth/sessions').then(a => a.sessions.length)
  const before = await sessions()
  for (const h of [one, other]) {
    const { page } = await asOwner(t, h)
    await page.goto(base + '/people/ann')
    await page.getByRole('grid', { name: 'Access' }).getByText('Editor').first().waitFor()
  }
  assert.equal(await sessions(), before + 2) // both hosts know of both
})

test('13 a grant after its review at one host is seen at the other by itself', { skip, timeout: 120_000 }, async t => {
  const [one, other] = await two(t)
  await world(one)
  const watching = await asOwner(t, other)
  await watching.page.goto(base + '/grants?subject=user:zoe&home=docs')
  await watching.page.getByText('Nothing matches the filter').waitFor()
  const { page } = await asOwner(t, one)
  await page.goto(base + '/grants/new?subject=user:zoe&role=reader&scope=docs.folder:team')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('dialog', { name: 'This will be done' }).getByText(/1 principal gains \d+ answer/).waitFor()
  await page.getByRole('button', { name: 'Give access' }).click()
  await page.getByRole('heading', { name: 'The grant is made' }).waitFor()
  await watching.page.getByRole('grid', { name: 'Grants' }).getByText('reader').waitFor()
  await watching.page.goto(base + '/explain?user=zoe&key=docs.files.read&scope=docs.doc:plan')
  await watching.page.getByRole('region', { name: 'Verdict' }).getByText('may').first().waitFor()
  assert.doesNotMatch(await watching.page.getByRole('region', { name: 'Verdict' }).innerText(), /may not/)
})

test('24 a request that is asked at one host is decided at the other', { skip, timeout: 120_000 }, async t => {
  const [one, other] = await two(t)
  await requestable(one)
  await one.local('submitRequest', { input: { requesterUserId: 'zoe', roleId: 'reader', scope: 'docs.folder:team', justification: { why: 'to read the plan' } } })
  const [decides, follows] = [await asOwner(t, other), await asOwner(t, one)]
  await follows.page.goto(base + '/requests?list=all&home=docs')
  const listed = follows.page.getByRole('grid', { name: 'Requests' })
  await listed.getByText('zoe').waitFor()
  await decides.page.goto(base + '/inbox')
  await decides.page.getByRole('grid', { name: 'Inbox' }).getByText('zoe').click()
  await decides.page.getByLabel('Deny').check()
  await decides.page.getByRole('button', { name: 'Deny', exact: true }).click()
  await decides.page.getByText('Denied. ').waitFor()
  await listed.getByText('denied').waitFor()
  assert.equal((await one.owner.api('GET', '/orgs/acme/requests?application=docs&requesterUserId=zoe')).entries[0].request.state, 'denied')
})

test('5 a session ended at one host ends the screen at the other', { skip, timeout: 120_000 }, async t => {
  const idp = await provider(t)
  const [one, other] = await two(t, { oidc: idp, keep: true })
  await one.owner.api('POST', '/orgs/acme/seats', { userId: 'u_42', kind: 'admin' })
  const working = await visit(t, other)
  await working.page.goto('/dashboard/sign-in?org=acme')
  await working.page.getByRole('button', { name: 'Continue with single sign-on' }).click()
  await working.page.waitForURL('**/dashboard/orgs/acme')
  await working.page.goto(base + '/roles')
  await working.page.getByRole('grid', { name: 'Roles' }).waitFor()
  const { page } = await visit(t, one)
  await page.goto('/dashboard/sign-in')
  await page.getByText('Use the bootstrap secret instead').click()
  await signIn(page, one)
  await page.waitForURL('**/dashboard/orgs/acme')
  await page.goto(base + '/seats/u_42')
  await page.getByRole('button', { name: 'End sessions…' }).click()
  await page.getByRole('button', { name: 'End the sessions' }).click()
  await page.getByText('The sessions are ended.').waitFor()
  await working.page.waitForURL('**/dashboard/sign-in?returnTo=**')
  assert.equal(new URL(working.page.url()).searchParams.get('returnTo'), base + '/roles')
})

test('17 a revoke at one host wins over the grant at the other', { skip, timeout: 120_000 }, async t => {
  const [one, other] = await two(t)
  await world(one)
  const { page } = await asOwner(t, other)
  const ask = base + '/explain?user=ben&key=docs.files.read&scope=docs.doc:plan'
  const verdict = page.getByRole('region', { name: 'Verdict' })
  await page.goto(ask)
  await verdict.getByText('may').first().waitFor()
  assert.doesNotMatch(await verdict.innerText(), /may not/)
  await one.owner.api('POST', '/orgs/acme/org/revokes', { userId: 'ben', pattern: 'docs.files.*', scope: 'docs.folder:team' })
  await verdict.getByText('wins over every grant.').waitFor() // the screen asks again by itself
  await page.goto(base + '/people/ben')
  await page.getByText('1 revoke stands in front').waitFor()
})
