// Finds words in the site's pages. The index is a script of its own, loaded by the search page alone.
(() => {
  const field = document.getElementById("mkdocs-search-query");
  if (!field) return;
  const list = document.getElementById("mkdocs-search-results");
  const AROUND = 100; // characters shown before and after what was found
  const MOST = 50;

  const count = (text, word) => text.toLowerCase().split(word).length - 1;

  /** Weigh an entry: 0 if a word is missing, more with every mention, most with one in its title. */
  function weigh(entry, words) {
    const mentions = words.map(
      (word) => 20 * count(entry.title, word) + count(entry.text, word) / Math.sqrt(200 + entry.text.length),
    );
    return Math.min(...mentions);
  }

  function excerpt(text, word) {
    const begin = Math.max(0, text.toLowerCase().indexOf(word) - AROUND);
    return (begin ? "\u2026" : "") + text.slice(begin, begin + 2 * AROUND) + "\u2026";
  }

  function show(entry, words) {
    const article = document.createElement("article");
    const link = article.appendChild(document.createElement("h3")).appendChild(document.createElement("a"));
    link.href = entry.location;
    link.textContent = entry.title;
    article.appendChild(document.createElement("p")).textContent = excerpt(entry.text, words[0]);
    return article;
  }

  function search() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = searchIndex.docs
      .map((entry) => [words.length ? weigh(entry, words) : 0, entry])
      .filter(([weight]) => weight > 0)
      .sort(([a], [b]) => b - a)
      .slice(0, MOST);
    list.replaceChildren(...found.map(([, entry]) => show(entry, words)));
    if (!found.length) list.textContent = words.length ? list.dataset.noResultsText : "";
  }

  const index = document.createElement("script");
  index.src = "search/search_index.js";
  index.onload = () => {
    field.value = new URLSearchParams(location.search).get("q") ?? "";
    field.addEventListener("input", search);
    search();
  };
  document.head.append(index);
})();
