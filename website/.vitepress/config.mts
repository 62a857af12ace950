import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

// The pages stay where they are in the repository; the site is made from there.
const source = 'https://github.com/authzhost/authz/blob/main/'

function packaged(path: string) {
  return fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url))
}

function pages(folder: string, ...names: [string, string][]) {
  return names.map(([text, name]) => ({ text, link: `/${folder}${name}` }))
}

export default defineConfig({
  title: 'authz',
  description: 'Who may do what, and why',
  head: [['link', { rel: 'icon', href: 'data:,' }]], // none, and no request for one
  srcDir: '..',
  outDir: '../bin/site',
  cacheDir: '../bin/site-cache',
  srcExclude: ['**/node_modules/**', 'web/**', 'website/**', 'bin/**', '**/testdata/**', '**/generated/**'],
  rewrites: { 'README.md': 'index.md', ':folder(.*)/README.md': ':folder/index.md' },
  cleanUrls: false,
  lastUpdated: false,
  // Pages are outside of the folder whose packages they are built with.
  vite: { publicDir: false, resolve: { alias: [{ find: /^vue$/, replacement: packaged('vue/dist/vue.runtime.esm-bundler.js') }, { find: /^vue\/server-renderer$/, replacement: packaged('vue/server-renderer/index.mjs') }] } },
  markdown: {
    config: (md) => {
      // A link to what is no page of the site leads to the source. Text in braces is no
      // program of Vue.
      md.core.ruler.push('links-to-source', (state) => {
        const page: string = (state.env as { relativePath?: string }).relativePath ?? ''
        for (const block of state.tokens) {
          // What is beside the page is no package.
          if (block.type === 'html_block') block.content = block.content.replaceAll(/\b(src|srcset)="(?=images\/)/g, '$1="./')
          for (const token of block.children ?? []) {
            const href = token.type === 'link_open' ? token.attrGet('href') : null
            if (!href || /^(#|[a-z]+:)/.test(href) || /\.md(#.*)?$/.test(href)) continue
            token.attrSet('href', new URL(href, source + page).href)
          }
        }
      })
      const text = md.renderer.rules.text!
      md.renderer.rules.text = (...args) => text(...args).replaceAll('{{', '&#123;&#123;')
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/docs/tutorial' },
      { text: 'Commands', link: '/docs/cli' },
      { text: 'Specification', link: '/docs/spec/' },
      { text: 'Changes', link: '/CHANGELOG' },
      { text: 'Contributing', link: '/CONTRIBUTING' },
    ],
    sidebar: [
      { text: 'Learn', items: pages('docs/', ['Tutorial', 'tutorial'], ['What decides', 'concepts'], ['Examples', '../examples/']) },
      {
        text: 'How to',
        collapsed: false,
        items: pages(
          'docs/',
          ['Check in Go', 'checks'],
          ['Guard routes', 'middleware'],
          ['Test your application', 'testing-your-app'],
          ['Answer why', 'explain'],
          ['List who may', 'lookups'],
          ['Let people ask', 'requests'],
          ['Use the dashboard', 'dashboard'],
          ['Go to production', 'production'],
          ['Run a host', 'operations'],
          ['Choose storage', 'storage'],
          ['Read a directory', 'directories'],
          ['Count checks', 'metrics'],
          ['Send counts on', 'sinks'],
          ['Share people: the mesh', 'mesh'],
          ['Move an organization', 'federation'],
          ['Verify sources', 'verify'],
          ['Verify Go sources', 'verify-go'],
          ['Write a driver', 'writing-a-driver'],
          ['Write a sink', 'writing-a-sink'],
          ['Write an importer', 'writing-an-importer'],
          ['Prove a plugin', 'conformance'],
        ),
      },
      {
        text: 'Reference',
        items: pages(
          'docs/',
          ['Catalog file', 'catalog-file'],
          ['Configuration', 'configuration'],
          ['Commands', 'cli'],
          ['Provider API', 'provider-api'],
          ['Hosted API', 'hosted-api'],
          ['Conditions', 'conditions'],
          ['Glossary', 'glossary'],
          ['Specification', 'spec/'],
        ),
      },
      {
        text: 'Explanation',
        items: pages('docs/', ['Architecture', 'architecture'], ['Caching', 'caching'], ['Threat model', 'threat-model'], ['Performance', 'performance'], ['Testing', 'testing']),
      },
    ],
  },
})
