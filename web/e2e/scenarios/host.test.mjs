import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, asOwner, visit } from '../browser.mjs'
import { host, plugin } from '../hosts.mjs'
import { provider } from '../oidc.mjs'

/** Plugins, a sink and a directory: what an operator looks after. */
const busy = {
  plugins: `prom: {plugin: ${plugin('prometheus')}, config: {listen: "127.0.0.1:0", state_dir: prom}}\n  people: {plugin: file, config: {path: people.csv, settle: 0s}}`,
  more: 'metrics: {sinks: [prom], window: 1s}\ndirectories: {staff: {importer: people}}\n',
  files: { 'people.csv': 'user_id,active,manager\nann,true,\nben,true,ann\n' },
}

test('the host, for its operator and nobody else', async t => {
  const idp = await provider(t)
  const h = await host(t, { ...busy, oidc: idp, keep: true })
  await h.owner.api('POST', '/orgs/acme/seats', { userId: 'u_42', kind: 'owner' })
  await h.importDirectory('staff')
  const { page } = await visit(t, h)
  await page.goto('/dashboard/sign-in?org=acme')
  await page.getByRole('button', { name: 'Continue with single sign-on' }).click()
  await page.waitForURL('**/dashboard/orgs/acme')
  await page.getByRole('button', { name: 'u_42' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
  assert.equal(await page.getByRole('menuitem', { name: 'The host' }).count(), 0, 'an owner of an org is shown the host')
  await page.goto('/dashboard/host')
  await page.getByText('operator_required').first().waitFor()
  await accessible(page, 'a host that is not yours')
  await page.context().clearCookies()
  await page.goto('/dashboard/sign-in?org=acme')
  await page.getByText('Use the bootstrap secret instead').click()
  await page.getByLabel('User id').fill('owner')
  await page.getByLabel('Bootstrap secret').fill(h.secret)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL('**/dashboard/orgs/acme')
  await page.getByRole('button', { name: 'owner' }).click()
  await page.getByRole('menuitem', { name: 'The host' }).click()
  const plugins = page.getByRole('grid', { name: 'Plugins' })
  for (const name of ['main', 'prom', 'people']) await plugins.getByText(name, { exact: true }).first().waitFor()
  const staff = page.getByRole('region', { name: 'staff' })
  await staff.getByText('succeeded', { exact: true }).first().waitFor()
  assert.match(await staff.innerText(), /2 people/)
  await page.getByRole('grid', { name: 'Metrics sinks' }).getByText('prom').first().waitFor()
  await accessible(page, 'the host')
})

test('the host on a narrow screen', async t => {
  const h = await host(t, busy)
  const { page } = await asOwner(t, h, { width: 320, height: 720, scheme: 'dark' })
  await page.goto('/dashboard/host')
  await page.getByRole('grid', { name: 'Plugins' }).getByText('main').first().waitFor()
  await page.getByRole('grid', { name: 'Metrics sinks' }).getByText('prom').first().waitFor()
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  assert.ok(overflow <= 0, `${overflow} px too wide`)
  await accessible(page, 'the host, narrow')
})
