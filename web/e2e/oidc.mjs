// A small OpenID provider: it signs in at once whoever it was told to.
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { createServer } from 'node:http'

const b64 = text => Buffer.from(text).toString('base64url')

export async function provider(t) {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = createPrivateKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'RS256' }
  const codes = new Map()
  const p = { subject: 'u_42', refuse: false, forge: false, secret: randomBytes(16).toString('hex'), asked: 0 }
  const server = createServer(async (r, w) => {
    const at = new URL(r.url, p.issuer)
    const json = (status, body) => w.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    if (at.pathname === '/.well-known/openid-configuration') {
      return json(200, {
        issuer: p.issuer, authorization_endpoint: p.issuer + '/authorize', token_endpoint: p.issuer + '/token', jwks_uri: p.issuer + '/keys',
        response_types_supported: ['code'], subject_types_supported: ['public'], id_token_signing_alg_values_supported: ['RS256'],
      })
    }
    if (at.pathname === '/keys') return json(200, { keys: [jwk] })
    if (at.pathname === '/authorize') {
      p.asked++
      const q = at.searchParams
      const back = new URL(q.get('redirect_uri'))
      back.searchParams.set('state', q.get('state'))
      if (p.refuse) back.searchParams.set('error', 'access_denied')
      else {
        const code = randomBytes(16).toString('hex')
        codes.set(code, { nonce: q.get('nonce'), challenge: q.get('code_challenge'), client: q.get('client_id') })
        back.searchParams.set('code', code)
      }
      return w.writeHead(302, { Location: back.href }).end()
    }
    if (at.pathname === '/token') {
      let body = ''
      for await (const chunk of r) body += chunk
      const form = new URLSearchParams(body)
      const known = codes.get(form.get('code'))
      codes.delete(form.get('code'))
      const proved = known && createHash('sha256').update(form.get('code_verifier') ?? '').digest('base64url') === known.challenge
      if (!proved) return json(400, { error: 'invalid_grant' })
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: p.issuer, sub: p.subject, aud: known.client, exp: now + 60, iat: now, nonce: p.forge ? 'another' : known.nonce }
      const text = `${b64(JSON.stringify({ alg: 'RS256', kid: 'k' }))}.${b64(JSON.stringify(claims))}`
      return json(200, { access_token: 'a', token_type: 'Bearer', id_token: `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}` })
    }
    w.writeHead(404).end()
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  p.issuer = `http://127.0.0.1:${server.address().port}`
  t.after(() => server.close())
  return p
}
