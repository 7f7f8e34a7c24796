"""What a home holds: classes with their other names, grouped by what they are for.

It is written out by hand, once, so that meaning needs no download. A group is ``group | words for its use`` and
lines of ``class = other names``; ``~`` joins classes that people mix up (a cup and a mug).
"""

from __future__ import annotations

from functools import cache

HOUSEHOLD = """
seating | sit seat seating rest relax perch
chair = dining chair, side chair, folding chair
armchair = arm chair, easy chair, recliner, lounge chair
office chair = desk chair, swivel chair, computer chair
stool = bar stool, footstool, step stool
ottoman = pouf, pouffe, hassock, footrest
bench = settle
sofa = couch, settee, loveseat, love seat, divan, chesterfield
rocking chair = rocker

sleeping | sleep sleeping nap bedtime lie snooze
bed = double bed, single bed, mattress, bunk bed
crib = cot, cradle, baby bed
pillow = head pillow
blanket = duvet, quilt, comforter, bedspread, throw
bed sheet = sheet, bedding

tables | work eat dine write surface
table = dining table, kitchen table
coffee table = tea table, low table
side table = end table, occasional table
console table = hall table, sofa table
desk = writing desk, work desk, study table, computer desk
nightstand = night stand, bedside table, night table
counter = countertop, counter top, worktop, kitchen counter
kitchen island = cooking island
workbench = work bench

storage | store storage storing keep hang organise organize
cabinet = cupboard, kitchen cabinet, file cabinet, filing cabinet, sideboard, credenza
wardrobe = closet, armoire
dresser = chest of drawers, drawers, bureau, drawer
bookcase = bookshelf, book shelf, book case
shelf = shelving, rack, shelving unit, storage rack
tv stand = television stand, media console, tv bench, tv unit
shoe rack = shoe shelf
coat rack = coat stand, hat stand, clothes rack, coat hook
box = carton, cardboard box, crate, container, bin box
basket = wicker basket
laundry basket = hamper, laundry hamper
chest = trunk
safe = strongbox
suitcase = luggage, travel bag, trolley bag

drinking | drink drinking beverage sip thirsty
mug ~ cup = coffee mug, coffee cup, tea mug, beer mug
cup ~ mug = teacup, tea cup, paper cup
glass = drinking glass, tumbler, water glass
wine glass = wineglass, goblet, champagne flute
bottle = water bottle, flask, wine bottle, thermos
pitcher = jug, carafe, decanter
can = soda can, tin can, beer can, soda
teapot = tea pot

tableware | serve serving meal soup
plate = dish, saucer, dinner plate
bowl = soup bowl, salad bowl, cereal bowl, fruit bowl
tray = serving tray
fork = table fork
knife block = knife holder, knife stand
knife = butter knife, kitchen knife, steak knife, bread knife
spoon = teaspoon, tablespoon, ladle
chopsticks = chopstick
napkin = serviette
placemat = table mat, coaster

cooking | cook cooking boil fry bake heat roast toast baking
stove = cooktop, hob, range, stovetop, cooker, gas stove, stove burner
oven = baking oven, toaster oven
microwave = microwave oven
toaster = bread toaster
kettle = electric kettle, tea kettle, water boiler
coffee maker = coffee machine, espresso machine, coffeemaker, coffee pot
pan = frying pan, skillet, wok, saucepan
pot = cooking pot, stockpot, casserole, saucepot
blender = mixer, food processor, juicer
rice cooker = slow cooker, pressure cooker
cutting board = chopping board, bread board
spatula = turner, whisk, tongs
range hood = extractor hood, cooker hood, exhaust hood

cooling | cool cold chill freeze fresh
refrigerator = fridge, freezer, icebox, fridge freezer, mini fridge
fan = ventilator, standing fan, ceiling fan, desk fan
air conditioner = ac unit, air con, aircon

washing | wash washing rinse bathe laundry hygiene
sink = basin, washbasin, wash basin, bathroom sink
kitchen sink = dish sink
faucet = tap, water tap
toilet = lavatory, wc, loo, commode
toilet paper = loo roll, toilet roll, paper roll
bathtub = bath, tub, bath tub
shower = shower stall, shower cabin, shower head
towel = bath towel, hand towel, face towel
towel rack = towel rail, towel holder
soap = soap bar, hand soap, soap bottle
soap dispenser = soap pump
shampoo = shampoo bottle, conditioner
toothbrush = tooth brush
toothpaste = tooth paste
hairbrush = hair brush, comb
hair dryer = hairdryer, blow dryer
washing machine = washer, laundry machine
dryer = tumble dryer, clothes dryer
dishwasher = dish washer
bath mat = bathmat
scale = bathroom scale, weighing scale
razor = shaver

cleaning | clean cleaning sweep mop tidy dust rubbish garbage trash throw waste discard
trash can = bin, dustbin, garbage can, waste bin, trash bin, wastebasket, garbage bin, rubbish bin, recycling bin
broom = sweeper
mop = floor mop
vacuum cleaner = vacuum, hoover, robot vacuum
bucket = pail
sponge = scrubber, dish sponge
spray bottle = cleaner spray
detergent = washing liquid, detergent bottle, laundry detergent
dustpan = dust pan
iron = clothes iron, flat iron
ironing board = iron board
plunger = toilet plunger
cloth = rag, dishcloth, dish towel, tea towel
paper towel = kitchen roll, paper towel roll
tissue box = tissues, tissue, kleenex

light | light lighting illuminate bright dark
lamp = table lamp, desk lamp, bedside lamp, lantern
floor lamp = standing lamp, torchiere
ceiling lamp = ceiling light, chandelier, pendant lamp, pendant light
light switch = switch
candle = candlestick, candle holder
flashlight = torch

media | watch listen entertainment music news movie film play
television = tv, telly, tv set, television set, flat screen
monitor = computer monitor, screen, display
laptop = notebook computer, macbook, computer laptop
computer = pc, desktop computer, desktop, computer tower
keyboard = computer keyboard
computer mouse = mouse
remote control = remote, remote controller, tv remote, clicker
speaker = loudspeaker, stereo, soundbar
radio = tuner
game console = gaming console, playstation, xbox, console
game controller = gamepad, joystick
headphones = headset, earphones, earbuds
projector = beamer
printer = photocopier, scanner
router = modem, wifi router
camera = webcam, photo camera
guitar = acoustic guitar, electric guitar
piano = upright piano, grand piano, music keyboard

calling | call phone ring telephone
phone = mobile phone, cell phone, cellphone, smartphone, mobile, telephone, handset, landline
tablet = ipad, tablet computer
charger = phone charger, charging cable, power adapter

reading | read reading study learn
book = novel, textbook, paperback, notebook
magazine = journal, brochure
newspaper = paper
calendar = planner

office | office draw drawing stationery
pen = ballpoint, biro
pencil = crayon, marker
pencil cup = pen holder, pencil holder, pen cup
scissors = shears
stapler = tacker
tape = adhesive tape, duct tape
envelope = letter, mail
clipboard = clip board
whiteboard = white board, blackboard, chalkboard

time | time hour minute tick wake
clock = wall clock, table clock
alarm clock = alarm
watch = wristwatch, wrist watch

wearing | wear wearing dress clothes clothing
shoe = sneaker, trainer, sandal, footwear
slipper = slippers, house shoe
boot = boots
shirt = t shirt, tshirt, tee, blouse
jacket = coat, parka
trousers = pants, jeans
sock = stocking
hat = cap, beanie
glove = mitten
scarf = shawl
belt = waist belt
tie = necktie
umbrella = parasol
glasses = eyeglasses, spectacles, sunglasses
clothes hanger = hanger, coat hanger

carrying | carry carrying
bag = handbag, purse, tote, shopping bag, paper bag
backpack = rucksack, knapsack, schoolbag
wallet = billfold
keys = key, car keys, house keys, keychain, key ring
credit card = bank card

decoration | decorate decoration decor ornament pretty
vase = flower vase
plant = houseplant, house plant, potted plant, pot plant, planter
flower = bouquet, flowers
potted flower = flower pot, flowerpot
picture = painting, poster, wall art, artwork, wall picture
photo frame = picture frame, framed photo, photo, photograph
mirror = looking glass
rug = carpet, floor mat
doormat = door mat, welcome mat
cushion = throw pillow, sofa cushion, scatter cushion
curtain = drape, drapes, curtains
blinds = blind, window blind, shutter
statue = sculpture, figurine, bust
fish tank = aquarium
christmas tree = xmas tree

playing | toy toys playing game fun kids
ball = basketball, football, soccer ball, tennis ball, toy ball
teddy bear = teddy, stuffed animal, plush toy, plush, stuffed toy
doll = puppet
toy = plaything
toy car = model car
toy block = building block, lego, blocks
puzzle = jigsaw, board game
bicycle = bike, cycle
skateboard = skate board
dumbbell = weight, barbell, weights
yoga mat = exercise mat
treadmill = exercise bike, exercise machine
baseball bat = bat
tennis racket = racket, racquet

food | food hungry snack eating breakfast lunch dinner grocery
apple = red apple
banana = bananas
orange = tangerine fruit, mandarin
lemon = lime fruit
pear = pears
tomato = tomatoes
potato = potatoes
carrot = carrots
onion = onions
lettuce = salad, cabbage
bread = loaf, toast slice, baguette
egg = eggs
cake = pie, cupcake, muffin
cookie = biscuit, cracker
sandwich = burger
pizza = pizzas
donut = doughnut
milk = milk carton
juice = juice box
cereal = cereal box, cornflakes
jar = jam jar, honey jar
salt shaker = salt, salt cellar
pepper shaker = pepper, pepper mill

heating | warm heating warmth fire
radiator = heater, space heater
fireplace = hearth, chimney
thermostat = temperature control

building | enter exit
door = doorway, front door
window = window pane
stairs = staircase, stairway, steps, stair
power outlet = socket, wall socket, electrical outlet, plug socket
fire extinguisher = extinguisher
smoke detector = smoke alarm
fuse box = breaker box
column = pillar

tools | fix repair tool build
hammer = mallet
screwdriver = screw driver
wrench = spanner
drill = power drill
pliers = plier
ladder = step ladder, stepladder
toolbox = tool box
saw = handsaw
tape measure = measuring tape
battery = batteries
extension cord = power strip, cable, extension lead

pets | pet feed animal
pet bed = dog bed, cat bed
pet bowl = dog bowl, food bowl
litter box = cat litter
cat = kitten
dog = puppy
scratching post = cat tree

care | medicine ill pain health hurt
pill bottle = medicine, pills, medication, medicine bottle
first aid kit = first aid box
thermometer = fever thermometer
wheelchair = wheel chair
walking stick = cane, crutch
perfume = cologne
lotion = cream tube, sunscreen
"""

# what people ask for by its use, where the use fits fewer classes than the whole group
USES: dict[str, tuple[str, ...]] = {
    "sit": ("chair", "armchair", "office chair", "stool", "bench", "sofa", "ottoman", "rocking chair"),
    "sleep": ("bed", "crib", "sofa"),
    "nap": ("bed", "sofa"),
    "lie": ("bed", "sofa"),
    "drink": ("mug", "cup", "glass", "wine glass", "bottle"),
    "wash": ("sink", "bathtub", "shower", "washing machine"),
    "hand": ("sink", "soap", "towel"),
    "dry": ("towel", "dryer", "hair dryer"),
    "cook": ("stove", "oven", "microwave", "pan", "pot"),
    "heat": ("microwave", "stove", "kettle", "radiator"),
    "boil": ("kettle", "stove", "pot"),
    "read": ("book", "magazine", "newspaper"),
    "watch": ("television", "monitor"),
    "time": ("clock", "alarm clock", "watch"),
    "wake": ("alarm clock",),
    "call": ("phone",),
    "write": ("pen", "pencil", "desk"),
    "type": ("keyboard", "laptop"),
    "music": ("speaker", "radio", "guitar", "piano", "headphones"),
    "trash": ("trash can",),
    "rubbish": ("trash can",),
    "garbage": ("trash can",),
    "waste": ("trash can",),
    "throw": ("trash can",),
    "sweep": ("broom", "vacuum cleaner"),
    "cold": ("refrigerator", "air conditioner", "fan"),
    "fresh": ("refrigerator",),
    "cool": ("refrigerator", "air conditioner", "fan"),
    "light": ("lamp", "floor lamp", "ceiling lamp", "candle", "flashlight"),
    "cut": ("knife", "scissors", "saw"),
    "eat": ("table", "plate", "bowl", "fork", "spoon"),
    "reflection": ("mirror",),
    "myself": ("mirror",),
    "rain": ("umbrella",),
    "unlock": ("keys",),
    "water": ("bottle", "sink", "faucet", "glass", "pitcher"),
    "coffee": ("coffee maker", "mug"),
    "tea": ("kettle", "teapot", "cup", "mug"),
    "print": ("printer",),
    "teeth": ("toothbrush", "toothpaste"),
    "tooth": ("toothbrush", "toothpaste"),
    "hair": ("hairbrush", "hair dryer", "shampoo"),
    "foot": ("shoe", "sock", "ottoman", "rug"),
    "growing": ("plant",),
    "leafy": ("plant",),
    "work": ("desk", "laptop", "workbench"),
    "money": ("wallet", "safe", "credit card"),
    "photo": ("camera", "picture"),
    "travel": ("suitcase", "backpack"),
    "channel": ("remote control",),
    "warm": ("blanket", "radiator", "fireplace"),
    "cover": ("blanket",),
    "head": ("pillow", "hat"),
    "clothes": ("wardrobe", "dresser", "washing machine", "iron"),
    "flower": ("vase", "flower", "plant"),
    "exercise": ("dumbbell", "yoga mat", "treadmill", "bicycle"),
    "kids": ("toy", "teddy bear", "doll", "ball"),
    "cuddle": ("teddy bear", "cushion", "blanket"),
}


@cache
def classes() -> dict[str, tuple[tuple[str, ...], str]]:
    """Every class with its names (itself first) and its group, in the order written."""
    table: dict[str, tuple[tuple[str, ...], str]] = {}
    group = ""
    for line in HOUSEHOLD.strip().splitlines():
        if "|" in line:
            group = line.split("|")[0].strip()
        elif line.strip():
            left, _, right = line.partition("=")
            name = left.partition("~")[0].strip()
            table[name] = ((name, *(other.strip() for other in right.split(","))), group)
    return table


@cache
def confusable() -> dict[str, str]:
    """Classes that people mix up (a cup and a mug): each to the one key the two share."""
    joined: dict[str, str] = {}
    for line in HOUSEHOLD.splitlines():
        if "~" in line:
            one, _, other = line.partition("=")[0].partition("~")
            pair = sorted((one.strip(), other.strip()))
            joined[one.strip()] = joined[other.strip()] = "/".join(pair)
    return joined


@cache
def group_uses() -> dict[str, str]:
    """Words of use and the group each belongs to; the first group that claims a word has it."""
    words: dict[str, str] = {}
    for line in HOUSEHOLD.splitlines():
        if "|" in line:
            group, _, uses = line.partition("|")
            for use in uses.split():
                words.setdefault(use, group.strip())
    return words
