import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { accessible, asOwner, seen, signIn, visit } from '../browser.mjs'
import { host } from '../hosts.mjs'
import { provider } from '../oidc.mjs'
import { settled } from '../screens.mjs'

const wanted = '/dashboard/orgs/acme/people?q=u'
const refused = 'You could not be signed in.'

test('1 the bootstrap user signs in, and out', async t => {
  const h = await host(t)
  const { page, context } = await visit(t, h)
  await page.goto('/')
  await page.waitForURL('**/dashboard/sign-in**')
  await accessible(page, 'sign-in')
  await signIn(page, h)
  await page.waitForURL('**/dashboard/orgs/acme') // one org: straight in
  await page.getByText('Nothing needs you.').waitFor()
  const [cookie] = (await context.cookies()).filter(c => c.name === 'authz_session')
  assert.equal(cookie.httpOnly, true)
  assert.deepEqual(await page.evaluate(() => Object.keys(localStorage)), [], 'something is stored')
  await page.getByRole('button', { name: 'owner' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/dashboard/sign-in')
  await page.goto('/dashboard/orgs/acme')
  await page.waitForURL('**/dashboard/sign-in?returnTo=**')
})

test('2 OpenID keeps the address, and the bootstrap door is folded beside it', async t => {
  const idp = await provider(t)
  const h = await host(t, { oidc: idp, keep: true })
  await h.owner.api('POST', '/orgs/acme/seats', { userId: 'u_42', kind: 'admin' })
  const { page } = await visit(t, h)
  await page.goto(wanted)
  await page.waitForURL('**/dashboard/sign-in?returnTo=**')
  assert.equal(await page.getByLabel('Bootstrap secret').isVisible(), false)
  await page.getByLabel('Organization').first().fill('acme')
  await page.getByRole('button', { name: 'Continue with single sign-on' }).click()
  await page.waitForURL('**' + wanted)
  await page.getByRole('button', { name: 'u_42' }).waitFor()
})

test('3 five failures read alike', async t => {
  const idp = await provider(t)
  const h = await host(t, { oidc: idp, keep: true })
  await h.owner.api('POST', '/orgs/acme/seats', { userId: 'u_42', kind: 'admin' })
  const { page } = await visit(t, h)
  const texts = new Set()
  const through = async org => {
    await page.goto('/dashboard/sign-in?returnTo=' + encodeURIComponent(wanted))
    await page.getByLabel('Organization').first().fill(org)
    await page.getByRole('button', { name: 'Continue with single sign-on' }).click()
  }
  const told = async () => {
    const text = await page.getByRole('alert').innerText()
    assert.ok(text.startsWith(refused), text)
    texts.add(text.replace(/request.*/s, ''))
  }
  idp.refuse = true // the provider says no
  await through('acme')
  await page.waitForURL('**/dashboard/sign-in?**problem=**')
  await told()
  await accessible(page, 'a refused sign-in')
  const back = new URL(page.url()).searchParams
  assert.equal(back.get('returnTo'), wanted)
  assert.equal(back.get('org'), 'acme')
  assert.equal(back.get('code') ?? back.get('state'), null)
  idp.refuse = false
  idp.forge = true // its token is of another sign-in
  await through('acme')
  await page.waitForURL('**/dashboard/sign-in?**problem=**')
  await told()
  idp.forge = false
  idp.subject = 'u_stranger' // nobody with a seat
  await through('acme')
  await page.waitForURL('**/dashboard/sign-in?**problem=**')
  await told()
  await page.goto('/dashboard/sign-in')
  await page.getByText('Use the bootstrap secret instead').click()
  await signIn(page, h, 'acme', 'owner', 'x'.repeat(44)) // a wrong secret
  await page.getByRole('alert').waitFor()
  await told()
  await signIn(page, h, 'acme', 'somebody') // a wrong user
  await page.waitForTimeout(600)
  await told()
  assert.equal(texts.size, 1, [...texts].join('\n---\n'))
  idp.subject = 'u_42'
  await through('acme') // now it is right, and leads back
  await page.waitForURL('**' + wanted)
})

test('4 an expired session keeps the address', async t => {
  const h = await host(t)
  const { page, context } = await asOwner(t, h)
  await page.goto(wanted)
  await page.getByRole('grid').waitFor()
  await settled(page) // a call still on its way would end the session before the filter stands in the address
  await context.clearCookies()
  await page.getByLabel('Find by the beginning of the id').fill('ow')
  await page.waitForURL('**/dashboard/sign-in?returnTo=**')
  await signIn(page, h)
  await page.waitForURL('**/dashboard/orgs/acme/people?q=**')
})

test('5 a session revoked elsewhere ends the screen by itself', async t => {
  const h = await host(t)
  const { page } = await asOwner(t, h)
  await page.goto('/dashboard/orgs/acme/roles')
  await page.getByRole('grid').waitFor()
  const { sessions } = await h.owner.api('GET', '/auth/sessions')
  for (const s of sessions.filter(s => !s.current)) await h.owner.api('DELETE', '/auth/sessions/' + s.id)
  await page.waitForURL('**/dashboard/sign-in?returnTo=**')
  assert.equal(new URL(page.url()).searchParams.get('returnTo'), '/dashboard/orgs/acme/roles')
})

test('5 a session that ended before the screen heard of anything ends it too', async t => {
  const h = await host(t)
  const { page } = await asOwner(t, h)
  const revoke = async () => {
    const { sessions } = await h.owner.api('GET', '/auth/sessions')
    for (const s of sessions.filter(s => !s.current)) await h.owner.api('DELETE', '/auth/sessions/' + s.id)
  }
  await page.route('**/changes', async route => {
    await revoke()
    await route.continue()
  }, { times: 1 })
  await page.goto('/dashboard/orgs/acme/roles')
  await page.waitForURL('**/dashboard/sign-in?returnTo=**')
})

test('34 an address to return to stays on this host, and no page frames another', async t => {
  const h = await host(t)
  const { page } = await visit(t, h, { quiet: [/frame-ancestors/, /Framing/] })
  for (const evil of ['https://evil.example/', '//evil.example/', '/\\evil.example', '/dashboard//evil.example', '/dashboard/\\evil.example', '/dashboard/../../evil', '/api/v1/openapi.json', 'javascript:alert(1)']) {
    await page.goto('/dashboard/sign-in?returnTo=' + encodeURIComponent(evil))
    await signIn(page, h)
    await page.waitForURL(h.base + '/dashboard/orgs/acme')
    await page.evaluate(() => fetch('/api/v1/auth/session').then(r => r.json()).then(s => fetch('/api/v1/auth/sign-out', { method: 'POST', headers: { 'X-Authz-Csrf': s.csrfToken } })))
    await page.waitForTimeout(50)
  }
  // A page of another origin: it may not frame the dashboard, and what it posts is refused.
  const other = createServer((r, w) => w.writeHead(200, { 'Content-Type': 'text/html' }).end(`<iframe src="${h.base}/dashboard/"></iframe>`))
  await new Promise(resolve => other.listen(0, '127.0.0.1', resolve))
  t.after(() => other.close())
  await page.goto(`http://127.0.0.1:${other.address().port}/`)
  await page.waitForTimeout(500)
  assert.ok(!page.frames()[1]?.url().startsWith(h.base), 'it is framed')
  const answer = await fetch(h.base + '/api/v1/auth/sign-in', { method: 'POST', headers: { Origin: 'https://evil.example', 'Content-Type': 'application/json' }, body: JSON.stringify({ org: 'acme', userId: 'owner', proof: { kind: 'bootstrap', secret: h.secret } }) })
  assert.equal(answer.status, 403)
  assert.ok(!(await seen(page)).includes('Acme'))
})
