// Before anything is painted: how the page was made to look on an earlier visit.
const chosen = localStorage.getItem('troupe-theme')
if (chosen) document.documentElement.dataset.theme = chosen
