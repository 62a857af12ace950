import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { accessible, asOwner } from '../browser.mjs'
import { host, world } from '../hosts.mjs'

const gone = [/net::ERR_(CONNECTION|EMPTY_RESPONSE|INCOMPLETE|SOCKET_NOT_CONNECTED)/, /status of 50[234]/] // while no host is there

/** The form of a grant, reviewed: one press is left. */
async function reviewed(t, h) {
  const at = await asOwner(t, h, { quiet: gone })
  const keys = []
  at.page.on('request', r => {
    if (r.method() === 'POST' && r.url().endsWith('/orgs/acme/org/grants')) keys.push(r.headers()['idempotency-key'])
  })
  await at.page.goto('/dashboard/orgs/acme/grants/new?subject=user:zoe&pattern=docs.bills.read')
  await at.page.getByRole('button', { name: 'Review' }).click()
  const give = at.page.getByRole('button', { name: 'Give access' })
  await give.waitFor()
  return { ...at, give, keys }
}

/** Presses again as the screen says, the same form with the same key, until it is done. The host died while
 *  an application was asked: then the repeats end with that nobody knows, and it answers false. */
async function repeated(page, give, keys) {
  const made = page.getByRole('heading', { name: 'The grant is made' })
  const left = page.getByRole('alert').getByText('application_timeout')
  for (let i = 0; i < 40 && !(await made.or(left).isVisible()); i++) {
    const before = keys.length
    await give.click()
    while (keys.length === before) await pause(20)
    await made.or(page.getByRole('alert')).first().waitFor()
    await Promise.race([made.waitFor(), pause(2000)])
  }
  await made.or(left).waitFor()
  assert.equal(new Set(keys).size, 1, 'a repeat is another write')
  assert.ok(keys.length > 1)
  return made.isVisible()
}

const rows = h => h.owner.api('GET', '/orgs/acme/org/grants?subject=user:zoe').then(a => a.grants.length)

test('37 the host is killed before it has done a write: nobody knows, and a repeat does it once', { timeout: 120_000 }, async t => {
  const h = await host(t, { stays: true })
  await world(h)
  const { page, give, keys } = await reviewed(t, h)
  h.freeze() // it takes the request, and never answers
  await give.click()
  while (keys.length === 0) await pause(20)
  await h.kill()
  const alert = page.getByRole('alert')
  await alert.getByText('The host did not answer.').waitFor()
  await alert.getByText('Nobody knows whether it was done. Look at the list before you repeat it.').waitFor()
  assert.equal(await page.getByRole('heading', { name: 'The grant is made' }).count(), 0)
  await accessible(page, 'no answer')
  await give.click() // there is no host yet
  await alert.getByText('The host did not answer.').waitFor()
  await h.start()
  assert.equal(await rows(h), 0)
  assert.ok(await repeated(page, give, keys))
  assert.equal(await rows(h), 1)
})

test('37 the host is killed when it has done a write: a repeat does nothing more', { timeout: 120_000 }, async t => {
  const h = await host(t, { stays: true })
  await world(h)
  const { page, context, give, keys } = await reviewed(t, h)
  let first = true
  await context.route('**/api/v1/orgs/acme/org/grants', async route => {
    if (route.request().method() !== 'POST' || !first) return route.continue()
    first = false
    await route.fetch()
    await h.kill() // with the answer on its way
    await route.abort('connectionreset')
  })
  await give.click()
  await page.getByRole('alert').getByText('Nobody knows whether it was done.').waitFor()
  await h.start()
  assert.equal(await rows(h), 1)
  assert.ok(await repeated(page, give, keys))
  assert.equal(await rows(h), 1)
})

test('37 the host is killed at any instant of a write: it is done once, however often it is sent', { timeout: 240_000 }, async t => {
  const h = await host(t, { stays: true })
  await world(h)
  const { page, give, keys } = await reviewed(t, h)
  for (const after of [0, 8, 20]) {
    const before = keys.length
    await give.click()
    while (keys.length === before) await pause(1)
    await pause(after)
    await h.kill()
    await page.getByRole('alert').or(page.getByRole('heading', { name: 'The grant is made' })).first().waitFor()
    await h.start()
    if (await page.getByRole('heading', { name: 'The grant is made' }).isVisible()) break // the answer was faster
    await page.getByRole('alert').getByText(/Nobody knows|The first try may still be at work/).waitFor()
  }
  t.diagnostic(`sent ${keys.length} times`)
  const made = page.getByRole('heading', { name: 'The grant is made' })
  if (!(await made.isVisible()) && !(await repeated(page, give, keys))) {
    await page.getByRole('alert').getByText('Look at the list before you repeat it.').waitFor()
    await give.click() // another press writes nothing: who saw no row in the list opens the form anew
    await page.getByRole('alert').getByText('application_timeout').waitFor()
    assert.equal(new Set(keys).size, 1)
    if ((await rows(h)) === 0) {
      await page.reload()
      await page.getByRole('button', { name: 'Review' }).click()
      await give.click()
      await made.waitFor()
    }
  }
  assert.equal(await rows(h), 1)
})
