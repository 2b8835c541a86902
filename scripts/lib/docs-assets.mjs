// How the documentation looks, and how it is searched: two small files that every page loads.

export const STYLE = `:root{color-scheme:light dark;--line:light-dark(#ddd,#444);--soft:light-dark(#f6f6f4,#222)}
body{margin:0;display:grid;grid-template-columns:17rem minmax(0,1fr);font:16px/1.55 system-ui,sans-serif}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;box-sizing:border-box;border-right:1px solid var(--line)}
nav input{width:100%;box-sizing:border-box;padding:.4rem;font:inherit}
nav ul,nav ol{list-style:none;margin:.3rem 0;padding-left:.5rem}
nav li{margin:.15rem 0}
nav .here{font-weight:600}
summary{cursor:pointer;margin-top:.8rem;font-weight:600}
main{padding:1rem 2rem 4rem;max-width:56rem}
main h2 a,main h3 a{color:inherit;text-decoration:none}
pre{background:var(--soft);padding:.8rem;overflow:auto;border-radius:6px}
code{font:14px/1.45 ui-monospace,monospace}
table{border-collapse:collapse;display:block;overflow:auto}
td,th{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
@media(max-width:50rem){body{display:block}nav{position:static;height:auto}}
`;

export const SCRIPT = `const box=document.querySelector("input"),found=document.querySelector("#found"),up=document.body.dataset.up;
box.addEventListener("input",()=>{
  const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  found.replaceChildren();
  if(words.length===0)return;
  const score=([,title,text])=>{
    let sum=0;
    for(const word of words){
      const inTitle=title.toLowerCase().includes(word);
      if(!inTitle&&!text.toLowerCase().includes(word))return 0;
      sum+=inTitle?10:1;
    }
    return sum;
  };
  const hits=INDEX.map((entry)=>[score(entry),entry]).filter(([points])=>points>0).sort((a,b)=>b[0]-a[0]).slice(0,20);
  for(const [,[path,title]] of hits){
    const item=document.createElement("li"),link=document.createElement("a");
    link.href=up+"/"+path;
    link.textContent=title;
    item.append(link);
    found.append(item);
  }
});
`;
