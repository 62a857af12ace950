import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asOwner, seen } from '../browser.mjs'
import { host } from '../hosts.mjs'

const markup = `<img src=x onerror="document.title='pwned'"><script>document.title='pwned'</script>`
const turned = 'good\u202eexe.txt\u2066\u200b'

test('33 markup and marks of direction in every name stay text', async t => {
  const h = await host(t)
  await h.local('createRole', { input: { id: 'r1', name: markup, description: turned, patterns: ['docs.files.read'] } })
  await h.local('createRole', { input: { id: 'r2', name: turned, patterns: ['docs.files.*'] } })
  await h.local('createGroup', { input: { id: 'g1', name: markup, description: turned, parents: [] } })
  await h.local('createGroup', { input: { id: 'g2', name: turned, parents: ['g1'] } })
  const user = `<b>${'x'.repeat(120)}</b>`
  const spun = 'u\u202ezoe'
  await h.local('setGroupMembership', { userId: user, groupIds: ['g2'] })
  for (const subject of ['user:' + user, 'user:' + spun, 'group:g1']) await h.grant({ subject, roleId: 'r1', scope: '*' })
  await h.grant({ subject: 'user:' + user, roleId: 'r2', scope: 'docs.doc:' + markup.replaceAll(/[\s*]/g, '_') })
  await h.local('createRevoke', { input: { userId: user, pattern: 'docs.files.edit', scope: '*' } })
  await h.local('setScopeParents', { entries: [{ scope: 'docs.folder:f', parents: [] }, { scope: 'docs.doc:' + markup.replaceAll(/[\s*]/g, '_'), parents: ['docs.folder:f'] }] })
  await h.owner.api('POST', '/orgs/acme/seats', { userId: spun, displayName: markup })
  await h.owner.api('POST', '/orgs/acme/seats', { userId: 'u_1', displayName: turned })
  await h.grant({ subject: 'service:ci', roleId: 'r1', scope: '*' })
  const { apiKey } = await h.owner.api('POST', '/orgs/acme/api-keys', { kind: 'principal', serviceId: 'ci', name: markup })
  await h.owner.api('PATCH', '/orgs/acme', { name: turned })
  const { page, context } = await asOwner(t, h)
  page.on('dialog', () => assert.fail('a dialog opened'))
  const at = '/dashboard/orgs/acme'
  const who = encodeURIComponent(user)
  for (const path of [
    '/people', `/people/${who}`, `/people/${who}?tab=keys`, `/people/${who}?tab=groups`, `/people/${who}?tab=manage`, `/people/${encodeURIComponent(spun)}`, '/groups', '/groups/g1', '/groups/g2?tab=access', '/groups/g2?tab=change', '/roles/r1?tab=change', '/resources', `/resources/${encodeURIComponent('docs.doc:' + markup.replaceAll(/[\s*]/g, '_'))}`, `/revokes/new?user=${who}&pattern=${encodeURIComponent(markup)}`, '/roles', '/roles/r1', '/roles/r1?tab=grants',
    '/grants', '/grants?home=docs', '/revokes', `/explain?user=${who}&key=docs.files.read&scope=*`, `/explain?user=${who}&key=docs.files.edit&scope=*`, `/people?q=${encodeURIComponent(markup)}`, `/grants/new?subject=${who}&role=${encodeURIComponent(markup)}`,
    '/seats', '/seats/u_1', `/seats/${encodeURIComponent(spun)}`, `/invite?user=${encodeURIComponent(markup)}`, '/keys', `/keys/${apiKey.id}`, `/keys/new?name=${encodeURIComponent(markup)}`, '/services/ci', `/services/${who}`, '/settings', '/usage', '/reports?tab=entitlements', '/reports?tab=wildcards', `/catalog?q=${encodeURIComponent(markup)}`, '/registry/docs', '/drift', `/retained?actor=${encodeURIComponent(markup)}`,
  ]) {
    await page.goto(at + path)
    await page.locator('main h1').waitFor()
    await page.waitForTimeout(250)
    const text = await seen(page)
    assert.ok(!/[\u200b\u202a-\u202e\u2066-\u2069]/.test(text), `${path}: a mark of direction is shown as it is`)
    assert.equal(await page.locator('main img, main script, main b').count(), 0, path)
    assert.notEqual(await page.title(), 'pwned', path)
    assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(await page.title()), `${path}: in the title`)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(overflow <= 0, `${path} is ${overflow} px too wide`)
  }
  await page.goto(at + '/roles')
  await page.locator('main').getByText('good\\u{202e}exe.txt').first().waitFor()
  await page.getByText('<img src=x').first().waitFor()
  assert.deepEqual(await context.cookies().then(all => all.map(c => c.name)), ['authz_session'])
})
