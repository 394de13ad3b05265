// Looks up words in the search of the built book, whose folder is the argument.
'use strict';

const fs = require('fs');
const path = require('path');

const folder = process.argv[2];
const file = (start) => path.join(folder, fs.readdirSync(folder).find((name) => name.startsWith(start) && name.endsWith('.js')));
const elasticlunr = require(file('elasticlunr'));
global.window = { search: {} };
eval(fs.readFileSync(file('searchindex'), 'utf8'));

const { index, doc_urls: urls, search_options: options } = window.search;
const loaded = elasticlunr.Index.load(index);
const WANTED = { 'AIX machine trcnm': 'aix-machine.html', tracebuffer: 'qnx-log.html', 'first template': 'first-template.html', polars: 'python.html' };
for (const [words, page] of Object.entries(WANTED)) {
  const found = loaded.search(words, options).slice(0, 10).map((result) => urls[result.ref].split('#')[0]);
  if (!found.includes(page)) {
    console.error(`a search for ${words} finds ${[...new Set(found)].join(', ')}, not ${page}`);
    process.exit(1);
  }
}
console.log(`${Object.keys(WANTED).length} searches without a network`);
